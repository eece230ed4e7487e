#pragma once
#include "kernels/random/dropout.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Dropout inside another kernel: the factors are those that `dropout` gives to the same elements.
/// probability 0: none.
struct FusedDropout {
  DropoutKey key;
  const std::int64_t* positions = nullptr;  // as in DropoutRows
  // rows of a sample; the row of the micro-batch that row 0 of the operands is
  std::int64_t length = 1, first_row = 0;
  std::int64_t first_head = 0;  // of attention: which head of the whole layer the first one is
  explicit operator bool() const { return key.probability > 0; }
};

}  // namespace trainx::kernels
