#include "operations/quantize/quantize.hpp"
#include "core/error.hpp"
#include "operations/quantize/quantize_backends.hpp"

namespace trainx::operations {

void quantize(const Fp8Tensor& to, const Tensor& x) {
  if (x.place != Place::host) throw InternalError("a cast to fp8 on a GPU");
  return cpu::quantize(to, x);
}

}  // namespace trainx::operations
