// Between memory of the host and tensors where the operations compute: a copy on a CPU, a transfer
// on a GPU, which is waited for.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// `to` is contiguous; `from` holds to.nbytes() bytes.
void copy_in(const Tensor& to, const void* from);
/// Everything launched before is done when this returns.
void copy_out(void* to, const Tensor& from);

}  // namespace trainx::operations
