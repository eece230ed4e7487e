#include "ops/element.hpp"
#include "ops/tanh.hpp"
#include <cmath>
#include "ops/column_sum.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/timed_work.hpp"
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

void tanh(const at::Tensor& y, const at::Tensor& x) {
  TRAINX_ON_GPU(tanh(*gpu, y, x));
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      store(data<T>(y)[i], std::tanh(load(data<T>(x)[i])));
  });
}

void tanh_backward(const at::Tensor& dx, const at::Tensor& dy, const at::Tensor& y) {
  with_element(y, [&]<class T>(T) {
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      const float t = load(data<T>(y)[i]);
      store(data<T>(dx)[i], load(data<T>(dy)[i]) * (1 - t * t));
    }
  });
}

void tanh_backward_with_bias(const at::Tensor& dx, const at::Tensor& d_bias, const at::Tensor& dy,
                             const at::Tensor& y, bool accumulate) {
  TRAINX_ON_GPU(tanh_backward_with_bias(*gpu, dx, d_bias, dy, y, accumulate));
  const TimedWork timed(Work::activation);
  tanh_backward(dx, dy, y);
  column_sum(d_bias, dx, accumulate);
}

}  // namespace trainx::ops
