// What PEFT knows of models' types (config.json's model_type).
#pragma once
#include "adapter/config.hpp"
#include <optional>
#include <string_view>

namespace trainx::adapter {

/// The targets of a type where settings name none; nothing for types that PEFT has none for.
std::optional<Targets> targets_of_model_type(std::string_view model_type);

/// How transformers 4 called the experts that transformers 5 stacks: PEFT still takes these names.
struct ExpertNames {
  std::string_view gate, up, down;  // gate and up are fused into gate_up_proj
};
/// Nothing for types whose experts PEFT does not convert.
std::optional<ExpertNames> old_expert_names(std::string_view model_type);

}  // namespace trainx::adapter
