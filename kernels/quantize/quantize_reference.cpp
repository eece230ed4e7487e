#include "kernels/quantize/quantize.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

template <Fp8Format format, class T>
void cast_to_fp8(const Quantization<T>& op) {
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::uint8_t made = scaled_fp8<format>(op.x[r * op.columns + c], *op.scale);
      if (op.values) op.values[r * op.columns + c] = made;
      if (op.transposed) op.transposed[c * op.rows + r] = made;
    }
}

template <class T>
void quantize_on_host(const Quantization<T>& op) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < op.rows * op.columns; ++i)
    most = std::max(most, bits_of(widened(op.x[i])) & 0x7fffffffu);
  *op.scale = fp8_scale(most, op.format);
  if (op.format == Fp8Format::e4m3)
    cast_to_fp8<Fp8Format::e4m3>(op);
  else
    cast_to_fp8<Fp8Format::e5m2>(op);
}

}  // namespace

void quantize_reference(const Quantization<float>& op) { quantize_on_host(op); }
void quantize_reference(const Quantization<Bf16>& op) { quantize_on_host(op); }
void quantize_reference(const Quantization<Fp16>& op) { quantize_on_host(op); }

}  // namespace trainx::kernels
