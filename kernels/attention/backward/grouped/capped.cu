#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Grouped<true>>;
template struct GroupedBackward<Bf16, Grouped<true>>;
template struct GroupedBackward<Fp16, Grouped<true>>;

}  // namespace trainx::kernels
