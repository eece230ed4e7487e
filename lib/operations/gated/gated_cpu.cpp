#include "operations/activation/pointwise_value.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/gated/gated_backends.hpp"
#include <ATen/Parallel.h>

namespace trainx::operations {

void cpu::gated(Activation f, const Tensor& y, const Tensor& x) {
  const TimedWork timed(Work::activation);
  const std::int64_t rows = y.size(0), columns = y.numel() / rows;
  with_activation(f, [&]<Activation a>() {
    with_element(x, [&]<class T>(T) {
      at::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          T* const to = data<T>(y) + r * columns;
          const T *const gate = data<T>(x) + 2 * r * columns, *const up = gate + columns;
          for (std::int64_t c = 0; c < columns; ++c)
            store(to[c], value_and_slope<a>(load(gate[c])).value * load(up[c]));
        }
      });
    });
  });
}

void cpu::gated_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& x) {
  const TimedWork timed(Work::activation);
  const std::int64_t rows = dy.size(0), columns = dy.numel() / rows;
  with_activation(f, [&]<Activation a>() {
    with_element(x, [&]<class T>(T) {
      at::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* const from = data<T>(dy) + r * columns;
          const T *const gate = data<T>(x) + 2 * r * columns, *const up = gate + columns;
          T *const d_gate = data<T>(dx) + 2 * r * columns, *const d_up = d_gate + columns;
          for (std::int64_t c = 0; c < columns; ++c) {
            const float d = load(from[c]);
            const ValueAndSlope at = value_and_slope<a>(load(gate[c]));
            store(d_gate[c], d * at.slope * load(up[c]));
            store(d_up[c], d * at.value);
          }
        }
      });
    });
  });
}

}  // namespace trainx::operations
