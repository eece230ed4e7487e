// Gradients of functions of one number, for tests that hold them or other kernels against them.
#pragma once
#include "gpu/operands.hpp"
#include "kernels/activation/pointwise.hpp"
#include <vector>

namespace trainx::kernels {

template <class T>
struct PointwiseGradients {
  std::vector<T> d_pre;
  std::vector<float> d_bias;
};

struct PointwiseCase {
  std::int64_t rows = 0, columns = 0;
  ActivationKind kind = ActivationKind::silu;
  bool bias = true, accumulate = false;
  std::size_t shift = 0;  // elements that operands begin behind an aligned address
};

/// Of pointwise_backward on the GPU, in place of d_out; `before`: what d_bias held.
template <class T>
PointwiseGradients<T> gradients_on_device(const PointwiseCase& c, const std::vector<T>& d_out,
                                          const std::vector<T>& kept,
                                          const std::vector<float>& before) {
  const OnDevice<T> d(d_out, c.shift), x(kept, c.shift);
  const OnDevice<float> sums(before, c.shift);
  const Folding folding(pointwise_backward_partial_bytes(c.columns));
  require_success(
      pointwise_backward(PointwiseBackward<T>{c.rows, c.columns, d.data(), x.data(), d.data(),
                                              c.bias ? sums.data() : nullptr, c.accumulate},
                         c.kind, folding.memory(), nullptr),
      "pointwise_backward");
  folding.check();
  return {d.host(), sums.host()};
}

}  // namespace trainx::kernels
