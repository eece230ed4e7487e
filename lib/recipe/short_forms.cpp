#include "recipe/short_forms.hpp"

namespace trainx::recipe {

const std::vector<ShortForm>& short_forms() {
  static const std::vector<ShortForm> all{
      {"precision", "compute"}, {"memory.optimizer_offload", "where"}, {"eval.best", "metric"}};
  return all;
}

const std::vector<ShortWord>& short_words() {
  static const std::vector<ShortWord> all{
      {"precision", "fp8", {{"compute", "bf16"}, {"products", "fp8"}}}};
  return all;
}

namespace {

/// A key that is called otherwise now, in the same section.
struct FormerKey {
  std::string_view section, key, now;
};
constexpr FormerKey former_keys[]{{"memory", "checkpoint_segment", "recompute_segment"}};

/// Null where one of the maps on the way is not there.
yaml::Entry* find_path(yaml::Node& root, std::string_view path) {
  const std::size_t dot = path.find('.');
  yaml::Entry* entry = root.find(path.substr(0, dot));
  if (!entry || dot == std::string_view::npos) return entry;
  return entry->value.is_map() ? find_path(entry->value, path.substr(dot + 1)) : nullptr;
}

}  // namespace

std::optional<std::string_view> former_key(std::string_view path) {
  for (const FormerKey& former : former_keys)
    if (path == std::string(former.section) + "." + std::string(former.key)) return former.now;
  return std::nullopt;
}

void expand_short_forms(yaml::Node& root) {
  for (const ShortWord& word : short_words()) {
    yaml::Entry* section = find_path(root, word.section);
    if (!section || !section->value.is_scalar() || section->value.text != word.word) continue;
    yaml::Node map;
    map.kind = yaml::Node::Kind::map;
    map.where = section->value.where;
    for (const auto& [key, value] : word.means) {
      yaml::Node scalar = section->value;
      scalar.text = value;
      map.entries.push_back({std::string(key), section->where, std::move(scalar)});
    }
    section->value = std::move(map);
  }
  for (const ShortForm& form : short_forms()) {
    yaml::Entry* section = find_path(root, form.section);
    if (!section || !section->value.is_scalar()) continue;
    yaml::Node map;
    map.kind = yaml::Node::Kind::map;
    map.where = section->value.where;
    map.entries.push_back({std::string(form.key), section->where, std::move(section->value)});
    section->value = std::move(map);
  }
  for (const FormerKey& former : former_keys) {
    yaml::Entry* section = find_path(root, former.section);
    if (!section || !section->value.is_map() || section->value.find(former.now)) continue;
    if (yaml::Entry* entry = section->value.find(former.key)) entry->key = former.now;
  }
}

}  // namespace trainx::recipe
