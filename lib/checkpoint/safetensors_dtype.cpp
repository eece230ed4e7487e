#include "checkpoint/safetensors_dtype.hpp"
#include "core/error.hpp"
#include <array>

namespace trainx::checkpoint {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 9> dtypes{{{"F64", DType::f64},
                                                                    {"F32", DType::f32},
                                                                    {"F16", DType::f16},
                                                                    {"BF16", DType::bf16},
                                                                    {"I64", DType::i64},
                                                                    {"I32", DType::i32},
                                                                    {"I16", DType::i16},
                                                                    {"U16", DType::u16},
                                                                    {"U8", DType::u8}}};

}  // namespace

std::string_view safetensors_name(DType t) {
  for (const auto& [name, dtype] : dtypes)
    if (dtype == t) return name;
  throw InternalError("a dtype without a safetensors name");
}

std::optional<DType> safetensors_dtype(std::string_view name) {
  for (const auto& [known, dtype] : dtypes)
    if (known == name) return dtype;
  return std::nullopt;
}

std::string safetensors_dtype_names() {
  std::string all;
  for (const auto& [name, dtype] : dtypes) all.append(all.empty() ? "" : ", ").append(name);
  return all;
}

}  // namespace trainx::checkpoint
