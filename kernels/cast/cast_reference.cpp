#include "kernels/cast/cast.hpp"

namespace trainx::kernels {

void cast_reference(float* out, const Bf16* in, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) out[i] = widened(in[i]);
}
void cast_reference(Bf16* out, const float* in, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) narrow(in[i], out[i]);
}

}  // namespace trainx::kernels
