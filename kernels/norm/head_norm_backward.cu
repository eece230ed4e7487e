#include "kernels/norm/head_norm_backward.cuh"

namespace trainx::kernels {

std::int64_t head_norm_backward_partial_bytes(const HeadNormShape& shape, bool biased) {
  return (blocks_at_most(shape, biased) + fan + 1) * vector_bytes(shape, biased);
}

}  // namespace trainx::kernels
