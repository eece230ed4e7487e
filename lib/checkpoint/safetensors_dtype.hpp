// Element types as safetensors spells them.
#pragma once
#include "core/dtype.hpp"
#include <optional>
#include <string>
#include <string_view>

namespace trainx::checkpoint {

std::string_view safetensors_name(DType t);
std::optional<DType> safetensors_dtype(std::string_view name);
/// All of them, for a sentence: "F64, F32, ...".
std::string safetensors_dtype_names();

}  // namespace trainx::checkpoint
