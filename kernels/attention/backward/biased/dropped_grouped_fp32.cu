#include "kernels/attention/grouped_backward.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Biased<Grouped<false>>>>;

}  // namespace trainx::kernels
