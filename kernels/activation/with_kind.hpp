#pragma once
#include "kernels/activation/activation_kind.hpp"
#include "kernels/cuda_types.hpp"
#include <type_traits>

namespace trainx::kernels {

/// What `launch` returns, called with the kind as a std::integral_constant.
template <class F>
cudaError_t with_kind(ActivationKind kind, F launch) {
  using K = ActivationKind;
  switch (kind) {
    case K::silu: return launch(std::integral_constant<K, K::silu>{});
    case K::relu: return launch(std::integral_constant<K, K::relu>{});
    case K::relu_squared: return launch(std::integral_constant<K, K::relu_squared>{});
    case K::gelu_tanh: return launch(std::integral_constant<K, K::gelu_tanh>{});
    case K::gelu_erf: return launch(std::integral_constant<K, K::gelu_erf>{});
    case K::tanh: return launch(std::integral_constant<K, K::tanh>{});
  }
  return cudaErrorInvalidValue;
}

}  // namespace trainx::kernels
