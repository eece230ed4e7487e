#include "checkpoint/safetensors_dtype.hpp"
#include "core/error.hpp"
#include <algorithm>
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

constexpr std::array<UnreadType, 12> unread{{{"BOOL"},
                                             {"I8"},
                                             {"U32", 32},
                                             {"U64", 64},
                                             {"C64", 64},
                                             {"F8_E4M3"},
                                             {"F8_E5M2"},
                                             {"F8_E4M3FNUZ"},
                                             {"F8_E5M2FNUZ"},
                                             {"F8_E8M0"},
                                             {"F6_E2M3", 6},
                                             {"F4", 4}}};

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

const UnreadType* unread_type(std::string_view name) {
  const auto found = std::ranges::find(unread, name, &UnreadType::name);
  return found == unread.end() ? nullptr : &*found;
}

std::string safetensors_dtype_names() {
  std::string all;
  for (const auto& [name, dtype] : dtypes) all.append(all.empty() ? "" : ", ").append(name);
  return all;
}

}  // namespace trainx::checkpoint
