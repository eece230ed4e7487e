#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Grouped<false>>;
template struct GroupedBackward<Bf16, Grouped<false>>;
template struct GroupedBackward<Fp16, Grouped<false>>;

}  // namespace trainx::kernels
