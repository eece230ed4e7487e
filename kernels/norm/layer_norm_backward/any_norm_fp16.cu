#include "kernels/norm/layer_norm_backward.cuh"

namespace trainx::kernels {

template struct NormBackwardBlocks<Fp16, Known::nothing>;

}  // namespace trainx::kernels
