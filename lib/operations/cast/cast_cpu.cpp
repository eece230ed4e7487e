#include "operations/cast/cast_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"

namespace trainx::operations {

using tensor::torch_view;

void cpu::cast(const Tensor& to, const Tensor& from) {
  const TimedWork timed(Work::copy);
  torch_view(to).copy_(torch_view(from));
}

void cpu::add(const Tensor& to, const Tensor& from) {
  const TimedWork timed(Work::copy);
  torch_view(to).add_(torch_view(from));
}

}  // namespace trainx::operations
