#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<Bf16, Dropped<Biased<Grouped<false>>>>;
template struct GroupedBackward<Fp16, Dropped<Biased<Grouped<false>>>>;

}  // namespace trainx::kernels
