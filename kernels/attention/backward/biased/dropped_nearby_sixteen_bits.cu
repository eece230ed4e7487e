#include "kernels/attention/grouped_backward.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

template struct GroupedBackward<Bf16, Dropped<Biased<Nearby>>>;
template struct GroupedBackward<Fp16, Dropped<Biased<Nearby>>>;

}  // namespace trainx::kernels
