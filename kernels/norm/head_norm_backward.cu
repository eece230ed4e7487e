#include "kernels/norm/head_norm_backward.cuh"

namespace trainx::kernels {

std::int64_t head_norm_backward_partial_bytes(const HeadNormShape& shape, bool biased) {
  return (head_norm_blocks_at_most(shape, biased) + head_norm_fan + 1) *
         head_norm_vector_bytes(shape, biased);
}

}  // namespace trainx::kernels
