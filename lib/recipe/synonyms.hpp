// Keys that people look for in the wrong place or by another tool's name.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::recipe {

/// Other tools' names (PyTorch, transformers, DeepSpeed, nanoGPT, llm.c) and what they are here,
/// with a hint of the value where that differs too.
const std::map<std::string_view, std::string_view>& other_names();

/// The one of `names` that was probably meant by `word`: another tool's word for it (bfloat16 for
/// bf16, nvme for disk), or the nearest by spelling.
std::optional<std::string> name_meant(std::string_view word, const std::vector<std::string>& names);

/// The dotted key that was probably meant by the unknown `key` of section `section` ("" at the
/// top): another tool's name for it, or the same key in another section.
std::optional<std::string> key_meant(std::string_view section, std::string_view key);

}  // namespace trainx::recipe
