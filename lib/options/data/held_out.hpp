#pragma once
#include <cstdint>

namespace trainx::options {

/// How much of the training data is set aside for evaluation: a share in percent, or a number of
/// samples. The other one is 0.
struct HeldOut {
  double percent = 0;
  std::int64_t samples = 0;
};

}  // namespace trainx::options
