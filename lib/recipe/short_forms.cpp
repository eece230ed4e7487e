#include "recipe/short_forms.hpp"

namespace trainx::recipe {

const std::vector<ShortForm>& short_forms() {
  static const std::vector<ShortForm> all{{"precision", "compute"}};
  return all;
}

void expand_short_forms(yaml::Node& root) {
  for (const ShortForm& form : short_forms()) {
    yaml::Entry* section = root.find(form.section);
    if (!section || !section->value.is_scalar()) continue;
    yaml::Node map;
    map.kind = yaml::Node::Kind::map;
    map.where = section->value.where;
    map.entries.push_back({std::string(form.key), section->where, std::move(section->value)});
    section->value = std::move(map);
  }
}

}  // namespace trainx::recipe
