#include "kernels/attention/across.cuh"
#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Across>>;
template struct GroupedBackward<Bf16, Dropped<Across>>;
template struct GroupedBackward<Fp16, Dropped<Across>>;

}  // namespace trainx::kernels
