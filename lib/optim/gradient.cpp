#include "optim/gradient.hpp"
#include "optim/weights.hpp"

namespace trainx::optim {

TRAINX_OPTIM_CLONES void widen_gradients(const std::uint16_t* from, float* to, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = joined(from[i], 0);
}

}  // namespace trainx::optim
