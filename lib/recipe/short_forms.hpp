// Forms of a recipe that stand for others: shorter ones, and keys as they were called before.
#pragma once
#include "yaml/node.hpp"
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::recipe {

using KeysAndValues = std::vector<std::pair<std::string_view, std::string_view>>;

/// `precision: bf16` is short for `precision: {compute: bf16, products: compute}`.
struct ShortForm {
  std::string_view section, key;  // section: a path, memory.optimizer_offload
  KeysAndValues beside = {};      // what else it says
};
const std::vector<ShortForm>& short_forms();

/// A word that is no value of that key: `precision: fp8` is short for
/// `precision: {compute: bf16, products: fp8}`.
struct ShortWord {
  std::string_view section, word;
  KeysAndValues means;
};
const std::vector<ShortWord>& short_words();

/// What the dotted key that was called `path` before is called today, in the same section.
std::optional<std::string_view> former_key(std::string_view path);

/// All of them. Before trees are merged: what is merged later may name other keys of the same
/// section.
void expand_short_forms(yaml::Node& root);

}  // namespace trainx::recipe
