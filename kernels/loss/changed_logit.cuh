// LogitChange on the device.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/loss/loss_form.hpp"
#include <cuda_runtime_api.h>
#include <type_traits>

namespace trainx::kernels {

struct ChangeFactors {
  float scale, cap, over_cap;  // of a cap: scale / cap
};
inline ChangeFactors factors_of(const LogitChange& c) {
  return {static_cast<float>(c.scale), static_cast<float>(c.soft_cap),
          c.soft_cap > 0 ? static_cast<float>(c.scale / c.soft_cap) : 0};
}

struct ChangedLogit {
  float value, slope;
};
/// T: of the logits in memory. In 16 bits tanh is that of an exponential, within 2^-23 of 1.
template <class T>
__device__ __forceinline__ ChangedLogit changed(float x, const ChangeFactors& c) {
  if (c.cap <= 0) return {x * c.scale, c.scale};
  const float v = x * c.over_cap;
  if constexpr (std::is_same_v<T, float>) {
    const float u = tanhf(v);
    return {c.cap * u, c.scale * (1 - u * u)};
  } else {
    const float e = __expf(-2 * fabsf(v)), inverse = __fdividef(1.0f, 1 + e);
    return {copysignf(c.cap * (1 - e) * inverse, v), c.scale * 4 * e * inverse * inverse};
  }
}

}  // namespace trainx::kernels
