#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/documents.cuh"

namespace trainx::kernels {

template struct QueryPass<float, Documents>;

}  // namespace trainx::kernels
