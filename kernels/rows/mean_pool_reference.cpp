#include "kernels/rows/mean_pool.hpp"

namespace trainx::kernels {

template <class T>
void mean_pool_reference(const MeanPool<T>& op) {
  for (std::int64_t b = 0; b < op.samples; ++b)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      double sum = 0;
      for (std::int64_t t = 0; t < op.lengths[b]; ++t)
        sum += widened(op.rows[(b * op.length + t) * op.columns + c]);
      narrow(op.lengths[b] > 0 ? static_cast<float>(sum / op.lengths[b]) : 0.0f,
             op.pooled[b * op.columns + c]);
    }
}

template <class T>
void mean_pool_backward_reference(const MeanPool<T>& op) {
  for (std::int64_t b = 0; b < op.samples; ++b)
    for (std::int64_t t = 0; t < op.length; ++t)
      for (std::int64_t c = 0; c < op.columns; ++c)
        narrow(t < op.lengths[b]
                   ? widened(op.pooled[b * op.columns + c]) / static_cast<float>(op.lengths[b])
                   : 0.0f,
               op.rows[(b * op.length + t) * op.columns + c]);
}

#define TRAINX_MEAN_POOL(T)                              \
  template void mean_pool_reference(const MeanPool<T>&); \
  template void mean_pool_backward_reference(const MeanPool<T>&);
TRAINX_MEAN_POOL(float)
TRAINX_MEAN_POOL(Bf16)
TRAINX_MEAN_POOL(Fp16)
#undef TRAINX_MEAN_POOL

}  // namespace trainx::kernels
