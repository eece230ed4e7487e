#include "kernels/attention/grouped_forward.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

template struct GroupedForward<float, Biased<Nearby>>;
template struct GroupedForward<Bf16, Biased<Nearby>>;
template struct GroupedForward<Fp16, Biased<Nearby>>;
template struct GroupedForward<float, Dropped<Biased<Nearby>>>;
template struct GroupedForward<Bf16, Dropped<Biased<Nearby>>>;
template struct GroupedForward<Fp16, Dropped<Biased<Nearby>>>;

}  // namespace trainx::kernels
