#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Grouped<true>>>;
template struct GroupedBackward<Bf16, Dropped<Grouped<true>>>;
template struct GroupedBackward<Fp16, Dropped<Grouped<true>>>;

}  // namespace trainx::kernels
