#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

template struct QueryPass<Bf16, Lengths>;
template struct QueryPass<Fp16, Lengths>;
template struct KeyValuePass<Bf16, Lengths>;
template struct KeyValuePass<Fp16, Lengths>;

}  // namespace trainx::kernels
