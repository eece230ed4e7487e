#include "operations/activation/activation_backends.hpp"
#include "operations/activation/pointwise_rows.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/common/timed_work.hpp"
#include <ATen/Parallel.h>

namespace trainx::operations {

namespace {

constexpr std::int64_t grain = 16384;  // elements that make starting a thread pay

}  // namespace

void cpu::pointwise(Activation f, const Tensor& y, const Tensor& x) {
  require_function(f);
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    at::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      activate_row(f, data<T>(y) + begin, data<T>(x) + begin, end - begin);
    });
  });
}

void cpu::pointwise_backward_with_bias(Activation f, const Tensor& dx, const Tensor& d_bias,
                                       const Tensor& dy, const Tensor& kept, bool accumulate) {
  require_function(f);
  const TimedWork timed(Work::activation);
  with_element(dx, [&]<class T>(T) {
    at::parallel_for(0, dx.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      activate_row_backward(f, data<T>(dx) + begin, data<T>(dy) + begin, data<T>(kept) + begin,
                            end - begin);
    });
  });
  if (d_bias.defined()) column_sum(d_bias, dx, accumulate);
}

void cpu::gelu(const Tensor& activated, const Tensor& x) {
  cpu::pointwise(Activation::gelu_tanh, activated, x);
}

void cpu::gelu_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                                  const Tensor& x, bool accumulate) {
  cpu::pointwise_backward_with_bias(Activation::gelu_tanh, dx, d_bias, d_activated, x, accumulate);
}

void cpu::gelu_erf(const Tensor& activated, const Tensor& x) {
  cpu::pointwise(Activation::gelu_erf, activated, x);
}

void cpu::gelu_erf_backward_with_bias(const Tensor& dx, const Tensor& d_bias,
                                      const Tensor& d_activated, const Tensor& x, bool accumulate) {
  cpu::pointwise_backward_with_bias(Activation::gelu_erf, dx, d_bias, d_activated, x, accumulate);
}

void cpu::tanh_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                                  const Tensor& y, bool accumulate) {
  cpu::pointwise_backward_with_bias(Activation::tanh, dx, d_bias, dy, y, accumulate);
}

}  // namespace trainx::operations
