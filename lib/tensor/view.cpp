#include "tensor/view.hpp"
#include "core/error.hpp"
#include <ATen/ops/from_blob.h>
#include <array>
#include <string>

namespace trainx::tensor {

namespace {
constexpr std::array<std::pair<DType, at::ScalarType>, 9> names{
    {{DType::f64, at::kDouble},
     {DType::f32, at::kFloat},
     {DType::f16, at::kHalf},
     {DType::bf16, at::kBFloat16},
     {DType::i64, at::kLong},
     {DType::i32, at::kInt},
     {DType::i16, at::kShort},
     {DType::u16, at::ScalarType::UInt16},
     {DType::u8, at::kByte}}};
}  // namespace

at::ScalarType scalar_type(DType t) {
  for (const auto& [ours, torchs] : names)
    if (ours == t) return torchs;
  throw InternalError("scalar_type: unknown DType");
}

DType dtype(at::ScalarType t) {
  for (const auto& [ours, torchs] : names)
    if (torchs == t) return ours;
  throw InternalError(std::string("dtype: ") + c10::toString(t) + " has no DType");
}

at::Tensor view(void* memory, DType t, at::IntArrayRef dims) {
  if (reinterpret_cast<std::uintptr_t>(memory) % size_of(t) != 0)
    throw InternalError("view: memory is not aligned to its element");
  return at::from_blob(memory, dims, at::TensorOptions().dtype(scalar_type(t)).device(at::kCPU));
}

}  // namespace trainx::tensor
