#include "kernels/attention/grouped_backward.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Biased<Nearby>>;
template struct GroupedBackward<Bf16, Biased<Nearby>>;
template struct GroupedBackward<Fp16, Biased<Nearby>>;

}  // namespace trainx::kernels
