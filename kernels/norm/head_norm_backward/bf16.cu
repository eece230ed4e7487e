#include "kernels/norm/head_norm_backward.cuh"

namespace trainx::kernels {

template cudaError_t head_norm_backward(const HeadNormBackward<Bf16>&, const FoldMemory&,
                                        cudaStream_t);

}  // namespace trainx::kernels
