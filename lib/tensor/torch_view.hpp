// Tensors as LibTorch sees them, for CPU backends of operations and for own modules.
#pragma once
#include "tensor/tensor.hpp"
#include <ATen/core/Tensor.h>

namespace trainx::tensor {

at::ScalarType scalar_type(DType t);
/// InternalError for a type that trainx has no name for.
DType dtype(at::ScalarType t);
/// The same memory, on the device that it is of: GPU memory is a tensor of this thread's GPU.
/// Undefined for an undefined tensor.
at::Tensor torch_view(const Tensor& t);

}  // namespace trainx::tensor
