#include "core/error.hpp"
#include "operations/common/issued_gemms.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/quantize/quantize_backends.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/addmm.h>

namespace trainx::operations {

using tensor::torch_view;

namespace {

/// Parts of the memory that operands are widened in, one behind another.
class WideMemory {
 public:
  explicit WideMemory(const Tensor& memory) : memory_(memory) {}

  at::Tensor take(const Dims& dims, std::int64_t elements) {
    if (!memory_.defined() || memory_.numel() < used_ + elements)
      throw InternalError("a product in fp8: no room for its operands in fp32");
    const Tensor part = memory_.view({-1}).narrow(0, used_, elements).view(dims);
    used_ += elements;
    return torch_view(part);
  }
  at::Tensor widened(const Fp8Copy& t) {
    at::Tensor out = take(t.values.dims, t.values.numel());
    cpu::widen(Tensor(out), t);
    return out;
  }

 private:
  Tensor memory_;
  std::int64_t used_ = 0;
};

/// Of the sum: none where operands were widened with their scales.
double scale_of(const Fp8Tensor& a, const Fp8Tensor& b) {
  if (a.granularity != Fp8Granularity::tensor) return 1;
  return static_cast<double>(*a.scale.as<const float>()) *
         static_cast<double>(*b.scale.as<const float>());
}

/// to = scale * left right + addend, which may be undefined or `to`.
void multiply(const Tensor& to, const at::Tensor& left, const at::Tensor& right, double scale,
              const Tensor& addend, WideMemory& wide) {
  at::Tensor out = torch_view(to);
  const bool rounds = to.dtype != DType::f32;
  at::Tensor product = rounds ? wide.take(to.dims, to.numel()) : out;
  if (addend.defined() && !rounds) {
    at::addmm_out(product, torch_view(addend), left, right, 1, scale);
    return;
  }
  at::addmm_out(product, product, left, right, 0, scale);  // 0: what was there is not read
  if (addend.defined()) product.add_(torch_view(addend));
  if (rounds) out.copy_(product);
}

}  // namespace

void cpu::fp8_linear(const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight,
                     const Tensor& bias, const Tensor& wide) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(x.values.size(0), weight.values.size(0), x.values.size(1));
  WideMemory memory(wide);
  const at::Tensor left = memory.widened(x.by_rows()), right = memory.widened(weight.by_rows());
  multiply(y, left, right.t(), scale_of(x, weight), bias, memory);
}

void cpu::fp8_linear_backward_input(const Tensor& dx, const Fp8Tensor& dy, const Fp8Tensor& weight,
                                    const Tensor& sum, const Tensor& wide) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(dy.values.size(0), weight.values.size(1), dy.values.size(1));
  WideMemory memory(wide);
  const at::Tensor left = memory.widened(dy.by_rows()), right = memory.widened(weight.by_rows());
  multiply(dx, left, right, scale_of(dy, weight), sum, memory);
}

void cpu::fp8_linear_backward_weight(const Tensor& d_weight, const Fp8Tensor& dy,
                                     const Fp8Tensor& x, bool accumulate, const Tensor& wide) {
  const TimedWork timed(Work::matrix_product);
  WideMemory memory(wide);
  const Tensor before = accumulate ? d_weight : Tensor();
  if (x.granularity == Fp8Granularity::vector) {
    note_gemm(dy.transposed.size(0), x.transposed.size(0), x.transposed.size(1));
    const at::Tensor left = memory.widened(dy.by_columns()), right = memory.widened(x.by_columns());
    return multiply(d_weight, left, right.t(), 1, before, memory);
  }
  note_gemm(dy.values.size(1), x.values.size(1), x.values.size(0));
  const at::Tensor left = memory.widened(dy.by_rows()), right = memory.widened(x.by_rows());
  multiply(d_weight, left.t(), right, scale_of(dy, x), before, memory);
}

}  // namespace trainx::operations
