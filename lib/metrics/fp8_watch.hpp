#pragma once
#include "metrics/report.hpp"
#include <string>
#include <vector>

namespace trainx::metrics {

/// Warns where casts to fp8 lose elements: once of each class of tensors and each cause.
class Fp8Watch {
 public:
  // of a class's elements
  static constexpr double most_flushed = 0.05, most_saturated = 0.001;

  std::vector<std::string> news(std::int64_t step, const Fp8Shares& shares);

 private:
  bool told_flushed_[Fp8Shares::classes] = {}, told_saturated_[Fp8Shares::classes] = {};
};

}  // namespace trainx::metrics
