#include "kernels/attention/grouped_backward.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

template struct GroupedBackward<float, Dropped<Biased<Nearby>>>;

}  // namespace trainx::kernels
