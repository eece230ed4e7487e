#include "kernels/quantize/quantize_blocks.hpp"
#include "kernels/quantize/transpose_fp8.hpp"
#include "operations/common/launch.hpp"
#include "operations/quantize/quantize_backends.hpp"

namespace trainx::operations::cuda {
namespace {

void require_gpu_elements(const Tensor& t, DType dtype, std::int64_t n) {
  if (t.defined() && (t.dtype != dtype || t.numel() != n || !t.is_contiguous()))
    throw InternalError("quantize: an operand of another type or size");
}

kernels::Fp8Source source_of(const Fp8Cast& how) {
  using kernels::Fp8Source;
  const bool gradient = how.pre.defined();
  if (how.gated && how.activation == Activation::silu)
    return gradient ? Fp8Source::gated_silu_gradient : Fp8Source::gated_silu;
  if (how.gated && how.activation == Activation::gelu_tanh)
    return gradient ? Fp8Source::gated_gelu_tanh_gradient : Fp8Source::gated_gelu_tanh;
  if (how.gated) throw InternalError("quantize: no kernel casts this gate");
  switch (how.activation) {
    case Activation::none: return Fp8Source::plain;
    case Activation::gelu_tanh:
      return gradient ? Fp8Source::gelu_tanh_gradient : Fp8Source::gelu_tanh;
    case Activation::gelu_erf: return gradient ? Fp8Source::gelu_erf_gradient : Fp8Source::gelu_erf;
    default: break;
  }
  throw InternalError("quantize: no kernel casts this activation");
}

/// Of x[rows, columns].
void require_scales(const Tensor& t, const Fp8Tensor& of, std::int64_t rows, std::int64_t columns) {
  if (!t.defined()) throw InternalError("quantize: no room for scales");
  require_gpu_elements(t, DType::f32,
                       kernels::fp8_scales(granularity_of(of.granularity), rows, columns));
}

void quantize_blocks(const Gpu& gpu, const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how,
                     std::int64_t elements) {
  if (x.dtype != DType::bf16 || to.format != Fp8::e4m3 || how.known.defined())
    throw InternalError("quantize: no kernel casts this with scales of blocks");
  kernels::BlockQuantization<kernels::Bf16> op;
  op.granularity = granularity_of(to.granularity);
  op.rows = x.size(0);
  op.columns = op.rows > 0 ? elements / op.rows : 0;
  op.x = pointer<const kernels::Bf16>(x);
  if (to.values.defined()) require_scales(to.scale, to, op.rows, op.columns);
  if (to.transposed.defined()) require_scales(to.transposed_scale, to, op.columns, op.rows);
  op.values = pointer<std::uint8_t>(to.values);
  op.scales = pointer<float>(to.scale);
  op.transposed = pointer<std::uint8_t>(to.transposed);
  op.transposed_scales = pointer<float>(to.transposed_scale);
  op.source = source_of(how);
  op.pre = pointer<const kernels::Bf16>(how.pre);
  op.column_sums = pointer<float>(how.column_sums);
  op.accumulate = how.accumulate;
  op.counts = pointer<double>(how.counts);
  gpu::require(kernels::quantize_blocks(op, gpu.fold, gpu.space.stream), "quantize");
  gpu.done(Work::copy);
}

}  // namespace

void quantize(const Gpu& gpu, const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how) {
  const std::int64_t elements = !how.gated          ? x.numel()
                                : how.pre.defined() ? 2 * x.numel()
                                                    : x.numel() / 2;
  require_gpu_elements(x, x.dtype, x.numel());
  require_gpu_elements(to.values, DType::u8, elements);
  require_gpu_elements(to.transposed, DType::u8, elements);
  require_gpu_elements(how.pre, x.dtype, elements);
  require_gpu_elements(how.counts, DType::f64, kernels::fp8_counts);
  if (to.granularity != Fp8Granularity::tensor) return quantize_blocks(gpu, to, x, how, elements);
  require_gpu_elements(to.scale, DType::f32, 1);
  require_gpu_elements(how.known, DType::f64, 1);
  require_gpu_elements(how.exponents, DType::f64, kernels::fp8_exponents);
  if (!to.scale.defined()) throw InternalError("quantize: no room for the scale");
  with_kernel_element(x, [&]<class T>(T) {
    kernels::Quantization<T> op;
    op.rows = x.size(0);
    op.columns = op.rows > 0 ? elements / op.rows : 0;
    op.x = pointer<const T>(x);
    op.scale = pointer<float>(to.scale);
    op.scale_is_made = how.scale_is_made;
    op.values = pointer<std::uint8_t>(to.values);
    op.transposed = pointer<std::uint8_t>(to.transposed);
    op.format = to.format == Fp8::e4m3 ? kernels::Fp8Format::e4m3 : kernels::Fp8Format::e5m2;
    op.source = source_of(how);
    op.pre = pointer<const T>(how.pre);
    op.column_sums = pointer<float>(how.column_sums);
    op.accumulate = how.accumulate;
    op.counts = pointer<double>(how.counts);
    op.known = pointer<const double>(how.known);
    op.exponents = pointer<double>(how.exponents);
    gpu::require(kernels::quantize(op, gpu.fold, gpu.space.stream), "quantize");
  });
  gpu.done(Work::copy);
}

void transpose_fp8(const Gpu& gpu, const Tensor& to, const Tensor& values) {
  require_gpu_elements(values, DType::u8, values.numel());
  require_gpu_elements(to, DType::u8, values.numel());
  gpu::require(
      kernels::transpose_fp8(pointer<std::uint8_t>(to), pointer<const std::uint8_t>(values),
                             values.size(0), values.size(1), gpu.space.stream),
      "transpose of weights in fp8");
  gpu.done(Work::copy);
}

}  // namespace trainx::operations::cuda
