#include "exported/cpu/masked.hpp"
#include "operations/common/element.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

namespace trainx::exported::cpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

TRAINX_CLONES void mask_row(float* to, const bool* kept, const float* x, float hidden,
                            std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) to[k] = kept[k] ? x[k] : hidden;
}

TRAINX_CLONES void add_kept_row(float* to, const bool* kept, const float* d, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) to[k] += kept[k] ? d[k] : 0.0f;
}

at::Tensor with_dense_rows(const at::Tensor& t, at::IntArrayRef sizes) {
  const at::Tensor wide = t.expand(sizes);
  if (wide.stride(-1) == 1 || sizes.back() == 1) return wide;
  return t.size(-1) == sizes.back() ? t.contiguous().expand(sizes) : wide.contiguous();
}

/// Rows of a tensor [B, H, T, S].
template <class T>
struct Rows {
  T* data;
  std::int64_t of_sample, of_head, of_token;  // strides
  T* at(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return data + b * of_sample + h * of_head + t * of_token;
  }
};
template <class T>
Rows<const T> rows_of(const at::Tensor& t) {
  return {t.const_data_ptr<T>(), t.stride(0), t.stride(1), t.stride(2)};
}
Rows<float> rows_to(const at::Tensor& t) {
  return {t.mutable_data_ptr<float>(), t.stride(0), t.stride(1), t.stride(2)};
}

/// Calls f(sample, head, token) for all samples of a head's token on one thread.
template <class F>
void for_rows(at::IntArrayRef sizes, F&& f) {
  const std::int64_t B = sizes[0], T = sizes[2];
  tensor::parallel_for(0, sizes[1] * T, operations::row_grain(B * sizes[3]),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t row = begin; row < end; ++row)
                           for (std::int64_t b = 0; b < B; ++b) f(b, row / T, row % T);
                       });
}

struct Masked : torch::autograd::Function<Masked> {
  static at::Tensor forward(AutogradContext* c, const at::Tensor& of, const at::Tensor& x,
                            double hidden) {
    const std::vector<std::int64_t> sizes = at::infer_size(of.sizes(), x.sizes());
    const at::Tensor kept = with_dense_rows(of, sizes), from = with_dense_rows(x, sizes),
                     to = at::empty(sizes, x.options());
    const auto keep = rows_of<bool>(kept);
    const auto read = rows_of<float>(from);
    const auto write = rows_to(to);
    for_rows(sizes, [&](std::int64_t b, std::int64_t h, std::int64_t t) {
      mask_row(write.at(b, h, t), keep.at(b, h, t), read.at(b, h, t), static_cast<float>(hidden),
               sizes[3]);
    });
    c->save_for_backward({kept});
    c->saved_data["sizes"] = x.sizes();
    return to;
  }

  static variable_list backward(AutogradContext* c, const variable_list& gradients) {
    const at::Tensor kept = c->get_saved_variables()[0], d = gradients[0].contiguous();
    const std::vector<std::int64_t> sizes = c->saved_data["sizes"].toIntVector();
    at::Tensor sum = at::zeros({sizes[0], d.size(1), d.size(2), d.size(3)}, d.options());
    const bool of_all = sizes[0] == 1;
    const auto keep = rows_of<bool>(kept);
    const auto read = rows_of<float>(d);
    const auto write = rows_to(sum);
    for_rows(d.sizes(), [&](std::int64_t b, std::int64_t h, std::int64_t t) {
      add_kept_row(write.at(of_all ? 0 : b, h, t), keep.at(b, h, t), read.at(b, h, t), d.size(3));
    });
    return {at::Tensor(), at::sum_to(std::move(sum), sizes), at::Tensor()};
  }
};

}  // namespace

bool can_mask(const at::Tensor& kept, const at::Tensor& x) {
  if (kept.scalar_type() != at::kBool || x.scalar_type() != at::kFloat) return false;
  if (kept.dim() != 4 || x.dim() != 4) return false;
  for (const int k : {0, 1, 2, 3})
    if (kept.size(k) != x.size(k) && kept.size(k) != 1 && x.size(k) != 1) return false;
  return kept.numel() > 0 && x.numel() > 0;
}

at::Tensor masked(const at::Tensor& kept, const at::Tensor& x, double hidden) {
  return Masked::apply(kept, x, hidden);
}

}  // namespace trainx::exported::cpu
