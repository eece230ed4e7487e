#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

template struct AttentionBackward<Bf16, Lengths>;
template struct AttentionBackward<Fp16, Lengths>;

}  // namespace trainx::kernels
