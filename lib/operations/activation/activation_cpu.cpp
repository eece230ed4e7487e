#include "operations/activation/activation_backends.hpp"
#include "operations/activation/pointwise_rows.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"
#include <cmath>

namespace trainx::operations::cpu {

namespace {

constexpr std::int64_t activation_grain = 16384;  // elements that make starting a thread pay

/// Few elements, a vector for each sample: the library's function is fast enough.
template <class T>
void tanh_row(T* y, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) store(y[i], std::tanh(load(x[i])));
}

}  // namespace

void activate(Activation f, const Tensor& y, const Tensor& x) {
  require_function(f);
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    if (f == Activation::tanh) return tanh_row(data<T>(y), data<T>(x), x.numel());
    tensor::parallel_for(0, x.numel(), activation_grain, [&](std::int64_t begin, std::int64_t end) {
      activate_row(f, data<T>(y) + begin, data<T>(x) + begin, end - begin);
    });
  });
}

void activate_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                       const Tensor& kept, bool accumulate) {
  require_function(f);
  const TimedWork timed(Work::activation);
  with_element(dx, [&]<class T>(T) {
    tensor::parallel_for(0, dx.numel(), activation_grain,
                         [&](std::int64_t begin, std::int64_t end) {
                           activate_row_backward(f, data<T>(dx) + begin, data<T>(dy) + begin,
                                                 data<T>(kept) + begin, end - begin);
                         });
  });
  if (d_bias.defined()) column_sum(d_bias, dx, accumulate);
}

}  // namespace trainx::operations::cpu
