#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

template struct QueryPass<float, Lengths>;

}  // namespace trainx::kernels
