// Settings of other tools that trainx has no key for, with the reason.
#pragma once
#include "imports/settings.hpp"
#include <span>

namespace trainx::imports {

struct Unmapped {
  std::string_view key;       // dotted; a '*' at its end stands for any ending
  std::string_view defaults;  // as is_default takes them: these values need no line
  std::string_view why;
  bool differs = false;  // training without it is another training
};

/// The first whose key fits; null if none does.
const Unmapped* find_unmapped(std::span<const Unmapped> table, std::string_view key);

/// Lists the settings that nobody took: with the table's reason, or as unknown. Lists a map key by
/// key if the table has keys of it but not the map itself. The table's keys are those of a map that
/// stands at the key `within` of its file, if any.
void leave_rest(Settings& settings, std::span<const Unmapped> table, std::string_view tool,
                std::string_view within = "");

std::span<const Unmapped> training_arguments_unmapped();
std::span<const Unmapped> deepspeed_unmapped();
std::span<const Unmapped> accelerate_unmapped();
std::span<const Unmapped> axolotl_unmapped();
std::span<const Unmapped> torchtune_unmapped();
/// Of TRL and LLaMA-Factory: what they have beside TrainingArguments.
std::span<const Unmapped> trl_unmapped();
std::span<const Unmapped> llama_factory_unmapped();
std::span<const Unmapped> peft_unmapped();

}  // namespace trainx::imports
