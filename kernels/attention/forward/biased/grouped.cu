#include "kernels/attention/grouped_forward.cuh"

namespace trainx::kernels {

template struct GroupedForward<float, Biased<Grouped<false>>>;
template struct GroupedForward<Bf16, Biased<Grouped<false>>>;
template struct GroupedForward<Fp16, Biased<Grouped<false>>>;
template struct GroupedForward<float, Dropped<Biased<Grouped<false>>>>;
template struct GroupedForward<Bf16, Dropped<Biased<Grouped<false>>>>;
template struct GroupedForward<Fp16, Dropped<Biased<Grouped<false>>>>;

}  // namespace trainx::kernels
