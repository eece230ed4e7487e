#include "imports/registry.hpp"
#include "recipe/schema.hpp"
#include <algorithm>

namespace trainx::imports {
namespace {

const recipe::FieldHelp* find(std::string_view key) {
  const auto found = std::ranges::find(recipe::schema_keys(), key, &recipe::FieldHelp::key);
  return found == recipe::schema_keys().end() ? nullptr : &*found;
}

bool has_field(const std::string& key, std::string_view type) {
  return std::ranges::any_of(recipe::schema_keys(), [&](const recipe::FieldHelp& field) {
    return field.key == key && field.of_type == type;
  });
}

std::vector<std::string> names(const std::string& what) {
  std::vector<std::string> out;
  for (const auto& [name, summary] : recipe::list_alternatives(what)) out.push_back(name);
  return out;
}

}  // namespace

bool has_key(std::string_view key) { return find(key) != nullptr; }

bool has_option(std::string_view optimizer, std::string_view option) {
  return has_field("optimizer.options." + std::string(option), optimizer);
}
bool has_model_option(std::string_view type, std::string_view option) {
  return has_field("model.options." + std::string(option), type);
}

std::vector<std::string> optimizer_names() { return names("optimizers"); }
std::vector<std::string> model_types() { return names("models"); }

bool has_optimizer(std::string_view name) {
  return std::ranges::count(optimizer_names(), name) > 0;
}

bool takes_word(std::string_view key, std::string_view word) {
  const recipe::FieldHelp* field = find(key);
  return field && std::ranges::count(field->words, word) > 0;
}

std::string default_text(std::string_view key, std::string_view type) {
  const auto found =
      std::ranges::find_if(recipe::schema_keys(), [&](const recipe::FieldHelp& field) {
        return field.key == key && (field.of_type.empty() || field.of_type == type);
      });
  return found == recipe::schema_keys().end() ? "" : found->default_text;
}

}  // namespace trainx::imports
