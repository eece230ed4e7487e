// Element types as safetensors spells them.
#pragma once
#include "core/dtype.hpp"
#include <optional>
#include <string>
#include <string_view>

namespace trainx::checkpoint {

std::string_view safetensors_name(DType t);
std::optional<DType> safetensors_dtype(std::string_view name);
/// A type of the format whose elements trainx does not read: masks, other makers' quantized
/// weights.
struct UnreadType {
  std::string_view name;
  int bits = 8;  // of an element
};
/// Null: the format has no such type, or trainx reads it.
const UnreadType* unread_type(std::string_view name);
/// All that are read, for a sentence: "F64, F32, ...".
std::string safetensors_dtype_names();

}  // namespace trainx::checkpoint
