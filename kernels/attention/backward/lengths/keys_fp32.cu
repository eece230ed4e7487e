#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

template struct KeyValuePass<float, Lengths>;

}  // namespace trainx::kernels
