// Whose file it is.
#pragma once
#include "yaml/node.hpp"
#include <array>
#include <cstdint>

namespace trainx::imports {

enum class Tool : std::uint8_t {
  training_arguments,
  deepspeed,
  accelerate,
  axolotl,
  torchtune,
  trl,
  llama_factory,
  peft
};
constexpr std::array<std::string_view, 8> tool_names{"TrainingArguments", "DeepSpeed", "Accelerate",
                                                     "Axolotl",           "torchtune", "TRL",
                                                     "LLaMA-Factory",     "PEFT"};

/// By the keys that one tool alone has; a single one of TrainingArguments' is enough.
/// Throws UserError 65, which names `file`, for the file of another tool.
Tool tool_of(const yaml::Node& root, const std::string& file);

}  // namespace trainx::imports
