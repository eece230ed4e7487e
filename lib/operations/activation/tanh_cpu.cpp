#include "operations/common/element.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/activation/tanh.hpp"
#include <cmath>
#include "operations/column_sum/column_sum.hpp"
#include "operations/activation/activation_backends.hpp"
#include "operations/common/timed_work.hpp"

namespace trainx::operations {

void cpu::tanh(const Tensor& y, const Tensor& x) {
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      store(data<T>(y)[i], std::tanh(load(data<T>(x)[i])));
  });
}

void tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  with_element(y, [&]<class T>(T) {
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      const float t = load(data<T>(y)[i]);
      store(data<T>(dx)[i], load(data<T>(dy)[i]) * (1 - t * t));
    }
  });
}

void cpu::tanh_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                                  const Tensor& y, bool accumulate) {
  const TimedWork timed(Work::activation);
  tanh_backward(dx, dy, y);
  column_sum(d_bias, dx, accumulate);
}

}  // namespace trainx::operations
