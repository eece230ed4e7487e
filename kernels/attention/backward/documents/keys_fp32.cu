#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/documents.cuh"

namespace trainx::kernels {

template struct KeyValuePass<float, Documents>;

}  // namespace trainx::kernels
