#include "recipe/short_forms.hpp"

namespace trainx::recipe {

void expand_short_forms(yaml::Node& root) {
  yaml::Entry* precision = root.find("precision");
  if (!precision || !precision->value.is_scalar()) return;
  yaml::Node map;
  map.kind = yaml::Node::Kind::map;
  map.where = precision->value.where;
  map.entries.push_back({"compute", precision->where, std::move(precision->value)});
  precision->value = std::move(map);
}

}  // namespace trainx::recipe
