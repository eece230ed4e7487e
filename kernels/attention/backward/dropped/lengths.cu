#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Lengths>>;
template struct GroupedBackward<Bf16, Dropped<Lengths>>;
template struct GroupedBackward<Fp16, Dropped<Lengths>>;

}  // namespace trainx::kernels
