#include "foreign/registry.hpp"
#include "recipe/schema.hpp"
#include <algorithm>

namespace trainx::foreign {
namespace {

const recipe::FieldHelp* find(std::string_view key) {
  const auto found = std::ranges::find(recipe::schema_keys(), key, &recipe::FieldHelp::key);
  return found == recipe::schema_keys().end() ? nullptr : &*found;
}

}  // namespace

bool has_key(std::string_view key) { return find(key) != nullptr; }

bool has_option(std::string_view optimizer, std::string_view option) {
  const std::string key = "optimizer.options." + std::string(option);
  return std::ranges::any_of(recipe::schema_keys(), [&](const recipe::FieldHelp& field) { return field.key == key && field.of_type == optimizer; });
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& [name, summary] : recipe::list_alternatives("optimizers")) names.push_back(name);
  return names;
}

bool has_optimizer(std::string_view name) { return std::ranges::count(optimizer_names(), name) > 0; }

bool takes_word(std::string_view key, std::string_view word) {
  const recipe::FieldHelp* field = find(key);
  const std::string words = field ? " " + field->type + " " : "";
  return words.find(" " + std::string(word) + " ") != std::string::npos;
}

std::string default_text(std::string_view key, std::string_view type) {
  const auto found = std::ranges::find_if(recipe::schema_keys(), [&](const recipe::FieldHelp& field) { return field.key == key && (field.of_type.empty() || field.of_type == type); });
  return found == recipe::schema_keys().end() ? "" : found->default_text;
}

}  // namespace trainx::foreign
