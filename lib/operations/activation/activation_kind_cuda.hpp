#pragma once
#include "core/error.hpp"
#include "kernels/activation/activation_kind.hpp"
#include "operations/activation/activation_spec.hpp"

namespace trainx::operations::cuda {

/// As the kernels name the function.
inline kernels::ActivationKind kind_of(Activation f) {
  switch (f) {
    case Activation::silu: return kernels::ActivationKind::silu;
    case Activation::relu: return kernels::ActivationKind::relu;
    case Activation::relu_squared: return kernels::ActivationKind::relu_squared;
    case Activation::gelu_tanh: return kernels::ActivationKind::gelu_tanh;
    case Activation::gelu_erf: return kernels::ActivationKind::gelu_erf;
    case Activation::tanh: return kernels::ActivationKind::tanh;
    case Activation::none: break;
  }
  throw InternalError("no kernel for this activation");
}

}  // namespace trainx::operations::cuda
