// Typed tensors over memory that somebody else owns, and the two names of an element type.
#pragma once
#include "core/dtype.hpp"
#include <ATen/core/Tensor.h>
#include <cstddef>

namespace trainx::tensor {

at::ScalarType scalar_type(DType t);
/// InternalError for a type that trainx has no name for.
DType dtype(at::ScalarType t);
/// Row-major, on the CPU; the memory must outlive the tensor and be aligned to its element.
at::Tensor view(void* memory, DType t, at::IntArrayRef dims);

}  // namespace trainx::tensor
