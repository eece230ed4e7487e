#include "checkpoint/float_elements.hpp"
#include "core/error.hpp"
#include "core/half.hpp"
#include "core/number.hpp"
#include <cmath>
#include <cstring>

namespace trainx::checkpoint {
namespace {

template <class T>
T element_at(std::span<const std::byte> data, std::size_t i) {  // mapped data need not be aligned
  T x;
  std::memcpy(&x, data.data() + i * sizeof x, sizeof x);
  return x;
}

std::size_t elements_of(const TensorEntry& t) {
  return t.data.size() / static_cast<std::size_t>(size_of(t.dtype));
}

float float_at(const TensorEntry& t, std::size_t i) {
  if (t.dtype == DType::f32) return element_at<float>(t.data, i);
  const auto bits = element_at<std::uint16_t>(t.data, i);
  return t.dtype == DType::bf16 ? widen_bf16(bits) : widen_f16(bits);
}

void require_weights(const TensorEntry& t, const std::string& where) {
  if (!is_weight_dtype(t.dtype))
    throw UserError(ExitCode::bad_data, where + " is of type " + std::string(name_of(t.dtype)) +
                                            "; weights are f32, bf16 or f16");
}

}  // namespace

bool is_weight_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

std::vector<float> to_floats(const TensorEntry& tensor, const std::string& where) {
  require_weights(tensor, where);
  std::vector<float> out(elements_of(tensor));
  if (out.empty()) return out;
  if (tensor.dtype == DType::f32)
    std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
  else
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = float_at(tensor, i);
  return out;
}

void convert_elements(const TensorEntry& tensor, DType dtype, std::span<std::byte> out,
                      const std::string& where) {
  require_weights(tensor, where);
  const std::size_t n = elements_of(tensor);
  if (!is_weight_dtype(dtype) || out.size() != n * static_cast<std::size_t>(size_of(dtype)))
    throw InternalError(where + ": converted into memory of another size or type");
  if (n == 0) return;
  if (dtype == tensor.dtype) {
    std::memcpy(out.data(), tensor.data.data(), out.size());
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const float x = float_at(tensor, i);
    if (dtype == DType::f32) {
      std::memcpy(out.data() + 4 * i, &x, 4);
      continue;
    }
    const std::uint16_t bits = dtype == DType::bf16 ? round_to_bf16(x) : round_to_f16(x);
    const std::uint16_t infinity = dtype == DType::bf16 ? 0x7f80 : 0x7c00;
    if ((bits & 0x7fff) == infinity && std::isfinite(x))
      throw UserError(ExitCode::bad_data, where + ": element " + std::to_string(i) + " is " +
                                              shortest(x) + ", beyond the range of " +
                                              std::string(name_of(dtype)) +
                                              "; choose a type of wider range: bf16 or fp32");
    std::memcpy(out.data() + 2 * i, &bits, 2);
  }
}

}  // namespace trainx::checkpoint
