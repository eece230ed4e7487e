// Forms of a recipe that stand for longer ones.
#pragma once
#include "yaml/node.hpp"

namespace trainx::recipe {

struct ShortForm {
  std::string_view section, key;
};  // section: a path, memory.optimizer_offload
/// `precision: bf16` is short for `precision: {compute: bf16}`.
const std::vector<ShortForm>& short_forms();

/// Before trees are merged: what is merged later may name other keys of the same section.
void expand_short_forms(yaml::Node& root);

}  // namespace trainx::recipe
