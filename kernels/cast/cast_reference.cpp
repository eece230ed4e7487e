#include "kernels/cast/cast.hpp"

namespace trainx::kernels {
namespace {

template <class To, class From>
void cast_on_host(To* out, const From* in, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) narrow(widened(in[i]), out[i]);
}

}  // namespace

void cast_reference(float* out, const Bf16* in, std::int64_t elements) {
  cast_on_host(out, in, elements);
}
void cast_reference(Bf16* out, const float* in, std::int64_t elements) {
  cast_on_host(out, in, elements);
}
void cast_reference(float* out, const Fp16* in, std::int64_t elements) {
  cast_on_host(out, in, elements);
}
void cast_reference(Fp16* out, const float* in, std::int64_t elements) {
  cast_on_host(out, in, elements);
}
void cast_reference(Bf16* out, const Fp16* in, std::int64_t elements) {
  cast_on_host(out, in, elements);
}
void cast_reference(Fp16* out, const Bf16* in, std::int64_t elements) {
  cast_on_host(out, in, elements);
}

}  // namespace trainx::kernels
