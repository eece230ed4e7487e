#pragma once
#include "tensor/tensor.hpp"
#include <algorithm>

namespace trainx::operations {

/// Of targets i32 on the host, those that are there: below 0 there is none.
inline double count_targets(const Tensor& targets) {
  const auto* const t = targets.as<const std::int32_t>();
  return static_cast<double>(
      std::count_if(t, t + targets.numel(), [](std::int32_t id) { return id >= 0; }));
}

}  // namespace trainx::operations
