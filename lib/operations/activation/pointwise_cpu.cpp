#include "operations/activation/activation_backends.hpp"
#include "operations/activation/pointwise_value.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/common/timed_work.hpp"
#include <ATen/Parallel.h>

namespace trainx::operations {

namespace {
constexpr std::int64_t pointwise_grain = 16384;
}

void cpu::pointwise(Activation f, const Tensor& y, const Tensor& x) {
  const TimedWork timed(Work::activation);
  with_activation(f, [&]<Activation a>() {
    with_element(x, [&]<class T>(T) {
      T* const to = data<T>(y);
      const T* const from = data<T>(x);
      at::parallel_for(0, x.numel(), pointwise_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          store(to[i], value_and_slope<a>(load(from[i])).value);
      });
    });
  });
}

namespace {

void times_slopes(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& kept) {
  const TimedWork timed(Work::activation);
  with_activation(f, [&]<Activation a>() {
    with_element(dx, [&]<class T>(T) {
      T* const to = data<T>(dx);
      const T *const from = data<T>(dy), *const x = data<T>(kept);
      at::parallel_for(0, dx.numel(), pointwise_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          store(to[i], load(from[i]) * value_and_slope<a>(load(x[i])).slope);
      });
    });
  });
}

}  // namespace

void cpu::pointwise_backward_with_bias(Activation f, const Tensor& dx, const Tensor& d_bias,
                                       const Tensor& dy, const Tensor& kept, bool accumulate) {
  times_slopes(f, dx, dy, kept);
  if (d_bias.defined()) column_sum(d_bias, dx, accumulate);
}

}  // namespace trainx::operations
