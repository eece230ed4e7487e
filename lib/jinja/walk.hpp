#pragma once
#include "jinja/syntax.hpp"

namespace trainx::jinja {

/// Calls `use(expression)` for the children of an expression.
template <class Use>
void for_each_child(Expression& node, Use&& use) {
  for (const auto& child : node.children)
    if (child) use(*child);
  if (node.positional) use(*node.positional);
  if (node.keywords) use(*node.keywords);
}

}  // namespace trainx::jinja
