#include "kernels/quantize/quantize.hpp"
#include "operations/common/launch.hpp"
#include "operations/quantize/quantize_backends.hpp"

namespace trainx::operations::cuda {
namespace {

void require_elements(const Tensor& t, DType dtype, std::int64_t n) {
  if (t.defined() && (t.dtype != dtype || t.numel() != n || !t.is_contiguous()))
    throw InternalError("quantize: an operand of another type or size");
}

}  // namespace

void quantize(const Gpu& gpu, const Fp8Tensor& to, const Tensor& x) {
  require_elements(x, x.dtype, x.numel());
  require_elements(to.values, DType::u8, x.numel());
  require_elements(to.transposed, DType::u8, x.numel());
  require_elements(to.scale, DType::f32, 1);
  if (!to.scale.defined()) throw InternalError("quantize: no room for the scale");
  with_kernel_element(x, [&]<class T>(T) {
    kernels::Quantization<T> op;
    op.rows = x.size(0);
    op.columns = op.rows > 0 ? x.numel() / op.rows : 0;
    op.x = pointer<const T>(x);
    op.scale = pointer<float>(to.scale);
    op.values = pointer<std::uint8_t>(to.values);
    op.transposed = pointer<std::uint8_t>(to.transposed);
    op.format = to.format == Fp8::e4m3 ? kernels::Fp8Format::e4m3 : kernels::Fp8Format::e5m2;
    gpu::require(kernels::quantize(op, gpu.fold, gpu.space.stream), "quantize");
  });
  gpu.done(Work::copy);
}

}  // namespace trainx::operations::cuda
