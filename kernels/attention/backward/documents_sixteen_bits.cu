#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/documents.cuh"

namespace trainx::kernels {

template struct AttentionBackward<Bf16, Documents>;
template struct AttentionBackward<Fp16, Documents>;

}  // namespace trainx::kernels
