#include "kernels/attention/grouped_backward.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Nearby>;
template struct GroupedBackward<Bf16, Nearby>;
template struct GroupedBackward<Fp16, Nearby>;

}  // namespace trainx::kernels
