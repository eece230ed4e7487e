#include "operations/columns/columns_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"

namespace trainx::operations::cpu {

using tensor::torch_view;

void take_columns(const Tensor& y, const Tensor& x, std::int64_t first) {
  const TimedWork timed(Work::norm);
  torch_view(y).copy_(torch_view(x).narrow(1, first, y.size(1)));
}

void take_columns_backward(const Tensor& dx, const Tensor& dy, std::int64_t first,
                           const Tensor& addend) {
  const TimedWork timed(Work::norm);
  const at::Tensor to = torch_view(dx);
  if (!addend.defined())
    to.zero_();
  else if (addend.data != dx.data)
    to.copy_(torch_view(addend));
  to.narrow(1, first, dy.size(1)).add_(torch_view(dy));
}

void copy_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count) {
  const TimedWork timed(Work::norm);
  torch_view(to.of)
      .narrow(1, to.first, count)
      .copy_(torch_view(from.of).narrow(1, from.first, count));
}

void add_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count) {
  const TimedWork timed(Work::norm);
  torch_view(to.of)
      .narrow(1, to.first, count)
      .add_(torch_view(from.of).narrow(1, from.first, count));
}

}  // namespace trainx::operations::cpu
