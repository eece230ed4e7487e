#include "ops/element.hpp"
#include "ops/tanh.hpp"
#include <cmath>

namespace trainx::ops {

void tanh(const at::Tensor& y, const at::Tensor& x) {
  with_element(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.numel(); ++i) store(data<T>(y)[i], std::tanh(load(data<T>(x)[i])));
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

}  // namespace trainx::ops
