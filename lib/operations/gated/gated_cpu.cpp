#include "operations/activation/pointwise_rows.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/gated/gated_backends.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

void cpu::gated(Activation f, const Tensor& y, const Tensor& x) {
  require_function(f);
  const TimedWork timed(Work::activation);
  const std::int64_t rows = y.size(0), columns = y.numel() / rows;
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const gate = data<T>(x) + 2 * r * columns;
        gate_row(f, data<T>(y) + r * columns, gate, gate + columns, columns);
      }
    });
  });
}

void cpu::gated_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& x) {
  require_function(f);
  const TimedWork timed(Work::activation);
  const std::int64_t rows = dy.size(0), columns = dy.numel() / rows;
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const gate = data<T>(x) + 2 * r * columns;
        T* const d_gate = data<T>(dx) + 2 * r * columns;
        gate_row_backward(f, d_gate, d_gate + columns, data<T>(dy) + r * columns, gate,
                          gate + columns, columns);
      }
    });
  });
}

}  // namespace trainx::operations
