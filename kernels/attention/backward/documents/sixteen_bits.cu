#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/documents.cuh"

namespace trainx::kernels {

template struct QueryPass<Bf16, Documents>;
template struct QueryPass<Fp16, Documents>;
template struct KeyValuePass<Bf16, Documents>;
template struct KeyValuePass<Fp16, Documents>;

}  // namespace trainx::kernels
