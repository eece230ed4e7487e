#include "kernels/embedding/scale.hpp"

namespace trainx::kernels {

template <class T>
void scale_reference(T* out, const T* in, std::int64_t elements, double factor) {
  for (std::int64_t i = 0; i < elements; ++i)
    narrow(widened(in[i]) * static_cast<float>(factor), out[i]);
}
template void scale_reference(float*, const float*, std::int64_t, double);
template void scale_reference(Bf16*, const Bf16*, std::int64_t, double);
template void scale_reference(Fp16*, const Fp16*, std::int64_t, double);

}  // namespace trainx::kernels
