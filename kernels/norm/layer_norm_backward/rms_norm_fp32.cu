#include "kernels/norm/layer_norm_backward.cuh"

namespace trainx::kernels {

template struct NormBackwardBlocks<float, Known::rms_norm>;

}  // namespace trainx::kernels
