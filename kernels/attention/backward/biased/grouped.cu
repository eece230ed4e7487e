#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Biased<Grouped<false>>>;
template struct GroupedBackward<Bf16, Biased<Grouped<false>>>;
template struct GroupedBackward<Fp16, Biased<Grouped<false>>>;

}  // namespace trainx::kernels
