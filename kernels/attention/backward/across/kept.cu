#include "kernels/attention/across.cuh"
#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Across>;
template struct GroupedBackward<Bf16, Across>;
template struct GroupedBackward<Fp16, Across>;

}  // namespace trainx::kernels
