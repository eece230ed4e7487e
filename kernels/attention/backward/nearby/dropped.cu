#include "kernels/attention/grouped_backward.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Nearby>>;
template struct GroupedBackward<Bf16, Dropped<Nearby>>;
template struct GroupedBackward<Fp16, Dropped<Nearby>>;

}  // namespace trainx::kernels
