#include "operations/clamped_gated/clamped_gated_backends.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::operations {

void cpu::clamped_gated(const ClampedGated& g, const Tensor& y, const Tensor& x) {
  const TimedWork timed(Work::activation);
  const std::int64_t rows = y.size(0), columns = y.numel() / std::max<std::int64_t>(rows, 1);
  const auto alpha = static_cast<float>(g.alpha), limit = static_cast<float>(g.limit);
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * columns; i < end * columns; ++i) {
        const float gate = std::min(load(data<T>(x)[2 * i]), limit),
                    up = std::clamp(load(data<T>(x)[2 * i + 1]), -limit, limit);
        store(data<T>(y)[i], (up + 1) * gate / (1 + std::exp(-alpha * gate)));
      }
    });
  });
}

void cpu::clamped_gated_backward(const ClampedGated& g, const Tensor& dx, const Tensor& dy,
                                 const Tensor& x) {
  const TimedWork timed(Work::activation);
  const std::int64_t rows = dy.size(0), columns = dy.numel() / std::max<std::int64_t>(rows, 1);
  const auto alpha = static_cast<float>(g.alpha), limit = static_cast<float>(g.limit);
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * columns; i < end * columns; ++i) {
        const float of_gate = load(data<T>(x)[2 * i]), of_up = load(data<T>(x)[2 * i + 1]),
                    gate = std::min(of_gate, limit), up = std::clamp(of_up, -limit, limit),
                    s = 1 / (1 + std::exp(-alpha * gate)), d = load(data<T>(dy)[i]);
        const bool gate_passes = of_gate <= limit, up_passes = of_up >= -limit && of_up <= limit;
        store(data<T>(dx)[2 * i],
              gate_passes ? d * (up + 1) * s * (1 + alpha * gate * (1 - s)) : 0.0F);
        store(data<T>(dx)[2 * i + 1], up_passes ? d * gate * s : 0.0F);
      }
    });
  });
}

}  // namespace trainx::operations
