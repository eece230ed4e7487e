#include "imports/adapters.hpp"
#include "adapter/model_types.hpp"
#include "core/number.hpp"
#include "imports/reasons.hpp"
#include "imports/registry.hpp"
#include "imports/unmapped.hpp"
#include "options/name_list.hpp"
#include "options/numbers_by_name.hpp"
#include "options/tokens_by_name.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::imports {
namespace {

// What the model's type decides: keys of the draft that no recipe has.
constexpr const char* targets_of_type = "targets_of_type";
constexpr const char* linear_classes = "linear_classes";

std::vector<std::string> names_at(Settings& s, std::string_view key) {
  const yaml::Node* node = s.take(key);
  std::vector<std::string> names;
  if (!node) return names;
  if (node->is_map()) s.refuse(key, "must be names, not " + shown(*node));
  if (!node->is_scalar()) {
    for (const yaml::Node& item : node->items) {
      if (!item.is_scalar()) s.refuse(key, "must be a list of names");
      names.push_back(item.text);
    }
    return names;
  }
  std::string one;
  for (const char c : node->text + ",") {
    if (c != ',' && c != ' ')
      one += c;
    else if (!one.empty())
      names.push_back(std::exchange(one, ""));
  }
  return names;
}

std::string list_of(std::vector<std::string> names) {
  return recipe::write_value(options::NameList(std::move(names)));
}

void map_patterns(Settings& s, std::string_view key, const std::string& recipe_key) {
  const yaml::Node* node = s.take(key);
  if (!node) return;
  if (!node->is_map()) s.refuse(key, "must be a map of patterns and numbers");
  options::NumbersByName numbers;
  for (const yaml::Entry& entry : node->entries) {
    const auto x = entry.value.is_scalar() ? parse_decimal(entry.value.text) : std::nullopt;
    if (!x) s.refuse(key, "must be a map of patterns and numbers");
    numbers.entries.emplace_back(entry.key, *x);
  }
  if (!numbers.entries.empty()) s.set(recipe_key, recipe::write_value(numbers), key);
}

void map_layers(Settings& s, std::string_view key) {
  const yaml::Node* node = s.take(key);
  if (!node) return;
  std::vector<std::int64_t> layers;
  const auto add = [&](const yaml::Node& item) {
    const auto layer = item.is_scalar() ? parse_integer(item.text) : std::nullopt;
    if (!layer) s.refuse(key, "must be indices of layers");
    layers.push_back(*layer);
  };
  if (node->is_scalar()) add(*node);
  for (const yaml::Node& item : node->items) add(item);
  if (!layers.empty()) s.set("model.adapter.layers", recipe::write_value(layers), key);
}

/// Text is one expression.
void map_excluded(Settings& s, std::string_view key) {
  const yaml::Node* node = s.take(key);
  if (!node) return;
  const std::string names = node->is_scalar() ? recipe::write_value(options::NameList(node->text))
                                              : name_list(s, key);
  if (!names.empty()) s.set("model.adapter.exclude", names, key);
}

/// Single tokens, a list or lists by module.
void map_tokens(Settings& s, std::string_view key) {
  const yaml::Node* node = s.take(key);
  if (!node || is_default(*node, "")) return;
  options::TokensByName tokens;
  if (const auto problem = recipe::read_value(*node, tokens, options::non_negative()))
    s.refuse(key, *problem);
  s.set("model.adapter.trainable_token_indices", recipe::write_value(tokens), key);
}

void map_number(Settings& s, std::string_view key, const std::string& recipe_key,
                const std::string& otherwise, const std::string& tool) {
  if (const auto x = key.empty() ? std::nullopt : s.number(key))
    s.set(recipe_key, shortest(*x), key, otherwise);
  else if (!otherwise.empty())
    s.assume(recipe_key, otherwise, tool);
}

}  // namespace

std::string name_list(Settings& s, std::string_view key) {
  auto names = names_at(s, key);
  return names.empty() ? "" : list_of(std::move(names));
}

void map_lora(Settings& s, std::string_view key, const AdapterKeys& keys,
              const AdapterDefaults& defaults) {
  s.set("model.adapter.type", "lora", key);
  map_number(s, keys.rank, "model.adapter.rank", defaults.rank, defaults.tool);
  map_number(s, keys.alpha, "model.adapter.alpha", defaults.alpha, defaults.tool);
  map_number(s, keys.dropout, "model.adapter.dropout", defaults.dropout, defaults.tool);
  if (!keys.rslora.empty() && s.flag(keys.rslora).value_or(false))
    s.set("model.adapter.rslora", "true", keys.rslora);
  if (!keys.dora.empty() && s.flag(keys.dora).value_or(false))
    s.leave(keys.dora, std::string(reasons::no_dora), true);
  for (const auto& [names, recipe_key] :
       {std::pair{keys.parameters, "model.adapter.target_parameters"},
        {keys.saved, "model.adapter.modules_to_save"}})
    if (const std::string list = names.empty() ? "" : name_list(s, names); !list.empty())
      s.set(recipe_key, list, names);
  if (!keys.tokens.empty()) map_tokens(s, keys.tokens);
  if (!keys.tying.empty() && s.flag(keys.tying).value_or(false))
    s.set("model.adapter.ensure_weight_tying", "true", keys.tying);
  if (!keys.excluded.empty()) map_excluded(s, keys.excluded);
  if (!keys.layers.empty()) map_layers(s, keys.layers);
  if (!keys.rank_pattern.empty()) map_patterns(s, keys.rank_pattern, "model.adapter.rank_pattern");
  if (!keys.alpha_pattern.empty())
    map_patterns(s, keys.alpha_pattern, "model.adapter.alpha_pattern");
}

void map_all_linear(Settings& s, std::string_view key, AllLinear meaning) {
  s.set("model.adapter.targets", "all_linear", key);
  if (meaning == AllLinear::by_class)
    s.draft().set(linear_classes, {"all linear layers", s.where(key), s.path(key)});
}

void map_targets(Settings& s, std::string_view key, std::string_view all, AllLinear meaning) {
  const yaml::Node* node = s.take(key);
  if (!node) return s.set(targets_of_type, "", key);
  const auto names = names_at(s, key);
  const bool is_text = node->is_scalar();
  if (names.empty()) return;
  if (names.size() == 1 && (names.front() == all || names.front() == "all-linear"))
    return map_all_linear(s, key, names.front() == all ? meaning : AllLinear::of_peft);
  // To PEFT text is one expression; tools that take text for a list have a word for all.
  const bool is_expression = is_text && all.empty();
  s.set("model.adapter.targets",
        is_expression ? recipe::write_value(options::NameList(node->text)) : list_of(names), key);
}

void map_trained_adapter(Settings& s, std::string_view key) {
  const auto folders = names_at(s, key);
  if (folders.empty()) return;
  if (folders.size() > 1)
    return s.leave(key, "names several adapters: merge all but the last into the model", true);
  for (const char* said : {"rank", "alpha", "rslora", "targets", "target_parameters",
                           "modules_to_save", "exclude", "layers", "rank_pattern", "alpha_pattern"})
    s.draft().remove(std::string("model.adapter.") + said);
  s.draft().remove(targets_of_type);
  s.draft().remove(linear_classes);
  s.set("model.adapter.init_from", recipe::write_value(folders.front()), key);
}

void map_quantized_base(Settings& s, std::string_view key, int bits) {
  if (bits == 4 && takes_word("precision.frozen", "nf4"))
    return s.set("precision.frozen", "nf4", key);
  s.leave(key, std::string(reasons::no_quantized_weights), true);
}

void finish_adapter(Draft& draft, const std::optional<std::string>& model_type) {
  if (const Value* by_class = draft.find(linear_classes)) {
    const Value all = *by_class;
    draft.remove(linear_classes);
    if (model_type && adapter::old_expert_names(*model_type))
      draft.leave(
          {all.where, all.origin, all.text,
           "are modules of linear classes there; here model.adapter.targets has the experts "
           "and the router of a mixture too",
           true});
  }
  const Value* of_type = draft.find(targets_of_type);
  if (!of_type) return;
  const Value left = *of_type;
  draft.remove(targets_of_type);
  if (draft.find("model.adapter.targets") || draft.find("model.adapter.target_parameters")) return;
  const auto targets = model_type ? adapter::targets_of_model_type(*model_type) : std::nullopt;
  if (targets)
    draft.set("model.adapter.targets", {list_of(targets->suffixes), left.where,
                                        "PEFT's for " + *model_type, Weight::assumed});
  else
    draft.ask("model.adapter.targets",
              "all_linear, or names of modules: PEFT's defaults depend on the model");
}

void read_peft(Settings& s, std::string_view within) {
  const std::string type = s.word("peft_type");
  if (!type.empty() && type != "lora") {
    s.leave("peft_type", std::string(reasons::no_such_adapter), true);
    return leave_rest(s, peft_unmapped(), "PEFT", within);
  }
  map_lora(s, s.has("peft_type") ? "peft_type" : "r",
           {.rank = "r",
            .alpha = "lora_alpha",
            .dropout = "lora_dropout",
            .rslora = "use_rslora",
            .dora = "use_dora",
            .targets = "target_modules",
            .parameters = "target_parameters",
            .saved = "modules_to_save",
            .excluded = "exclude_modules",
            .layers = "layers_to_transform",
            .rank_pattern = "rank_pattern",
            .alpha_pattern = "alpha_pattern",
            .tokens = "trainable_token_indices",
            .tying = "ensure_weight_tying"},
           {.tool = "default of PEFT", .rank = "8", .alpha = "8", .dropout = "0"});
  map_targets(s, "target_modules", "", AllLinear::of_peft);
  leave_rest(s, peft_unmapped(), "PEFT", within);
}

}  // namespace trainx::imports
