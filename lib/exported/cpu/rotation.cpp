#include "exported/cpu/rotation.hpp"
#include "operations/common/element.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace trainx::exported::cpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

TRAINX_CLONES void turn(float* y, const float* x, const float* cos, const float* sin,
                        std::int64_t half) {
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    y[i] = a * cos[i] - b * sin[i];
    y[i + half] = b * cos[i + half] + a * sin[i + half];
  }
}

TRAINX_CLONES void turn_back(float* y, const float* x, const float* cos, const float* sin,
                             std::int64_t half) {
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    y[i] = a * cos[i] + b * sin[i + half];
    y[i + half] = b * cos[i + half] - a * sin[i];
  }
}

at::Tensor with_dense_rows(const at::Tensor& t) { return t.stride(-1) == 1 ? t : t.contiguous(); }

/// y's strides are x's where x is dense, so that [B, T, H, D] seen as [B, H, T, D] stays so.
at::Tensor turned(decltype(turn)* of_row, const at::Tensor& of, const at::Tensor& cosines,
                  const at::Tensor& sines) {
  const at::Tensor x = with_dense_rows(of), y = at::empty_like(x),
                   c = with_dense_rows(cosines).expand_as(x),
                   s = with_dense_rows(sines).expand_as(x);
  const std::int64_t H = x.size(1), T = x.size(2), D = x.size(3);
  const auto at = [](const at::Tensor& t, std::int64_t b, std::int64_t h, std::int64_t p) {
    return b * t.stride(0) + h * t.stride(1) + p * t.stride(2);
  };
  const float *const from = x.const_data_ptr<float>(), *const cos = c.const_data_ptr<float>(),
                     *const sin = s.const_data_ptr<float>();
  float* const to = y.mutable_data_ptr<float>();
  tensor::parallel_for(0, x.size(0) * T, operations::row_grain(H * D),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t row = begin; row < end; ++row)
                           for (std::int64_t h = 0; h < H; ++h) {
                             const std::int64_t b = row / T, p = row % T;
                             of_row(to + at(y, b, h, p), from + at(x, b, h, p),
                                    cos + at(c, b, h, p), sin + at(s, b, h, p), D / 2);
                           }
                       });
  return y;
}

struct Rotation : torch::autograd::Function<Rotation> {
  static at::Tensor forward(AutogradContext* c, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    c->save_for_backward({cos, sin});
    return turned(turn, x, cos, sin);
  }
  static variable_list backward(AutogradContext* c, const variable_list& gradients) {
    const variable_list saved = c->get_saved_variables();
    return {turned(turn_back, gradients[0], saved[0], saved[1]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool can_rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const auto fits = [&](const at::Tensor& t) {
    return t.scalar_type() == at::kFloat && !t.requires_grad() && t.dim() > 0 &&
           t.size(-1) == x.size(-1) && at::is_expandable_to(t.sizes(), x.sizes());
  };
  return x.scalar_type() == at::kFloat && x.dim() == 4 && x.size(3) % 2 == 0 && fits(cos) &&
         fits(sin);
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  return Rotation::apply(x, cos, sin);
}

}  // namespace trainx::exported::cpu
