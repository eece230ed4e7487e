#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Grouped<false>>>;
template struct GroupedBackward<Bf16, Dropped<Grouped<false>>>;
template struct GroupedBackward<Fp16, Dropped<Grouped<false>>>;

}  // namespace trainx::kernels
