#include "recipe/short_forms.hpp"

namespace trainx::recipe {

const std::vector<ShortForm>& short_forms() {
  static const std::vector<ShortForm> all{// so that `precision=bf16` takes the fp8 of a recipe away
                                          {"precision", "compute", {{"products", "compute"}}},
                                          {"memory.optimizer_offload", "where"},
                                          {"eval.best", "metric"}};
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
  const auto expand = [](yaml::Entry& section, const KeysAndValues& entries) {
    yaml::Node map;
    map.kind = yaml::Node::Kind::map;
    map.where = section.value.where;
    for (const auto& [key, value] : entries) {
      yaml::Node scalar = section.value;
      scalar.text = value;
      map.entries.push_back({std::string(key), section.where, std::move(scalar)});
    }
    section.value = std::move(map);
  };
  for (const ShortWord& word : short_words())
    if (yaml::Entry* section = find_path(root, word.section);
        section && section->value.is_scalar() && section->value.text == word.word)
      expand(*section, word.means);
  for (const ShortForm& form : short_forms()) {
    yaml::Entry* section = find_path(root, form.section);
    if (!section || !section->value.is_scalar()) continue;
    const std::string text = section->value.text;
    KeysAndValues entries{{form.key, text}};
    entries.insert(entries.end(), form.beside.begin(), form.beside.end());
    expand(*section, entries);
  }
  for (const FormerKey& former : former_keys) {
    yaml::Entry* section = find_path(root, former.section);
    if (!section || !section->value.is_map() || section->value.find(former.now)) continue;
    if (yaml::Entry* entry = section->value.find(former.key)) entry->key = former.now;
  }
}

}  // namespace trainx::recipe
