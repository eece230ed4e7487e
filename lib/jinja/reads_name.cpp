#include "jinja/names.hpp"
#include "jinja/walk.hpp"
#include <algorithm>

namespace trainx::jinja {
namespace {

enum class Found { nothing, read, assigned };

class NameSearch {
 public:
  explicit NameSearch(const std::string& name) : name_(name) {}

  Found in(const Body& body) const {
    for (const auto& statement : body)
      if (const Found found = in(*statement); found != Found::nothing) return found;
    return Found::nothing;
  }

 private:
  Found loads(Expression& node) const {
    if (node.kind == ExpressionKind::name && node.name == name_) return Found::read;
    Found found = Found::nothing;
    for_each_child(node, [&](Expression& child) {
      if (found == Found::nothing) found = loads(child);
    });
    return found;
  }
  Found stores(const Expression& node) const {
    if (node.kind == ExpressionKind::name && node.name == name_) return Found::assigned;
    if (node.kind == ExpressionKind::tuple)
      for (const auto& child : node.children)
        if (stores(*child) != Found::nothing) return Found::assigned;
    return Found::nothing;
  }
  Found in(const Statement& node) const {
    const bool target_first = node.kind == StatementKind::for_ || node.kind == StatementKind::set ||
                              node.kind == StatementKind::set_block;
    for (std::size_t i = 0; i < node.expressions.size(); ++i) {
      if (!node.expressions[i]) continue;
      const Found found = i == 0 && target_first ? stores(*node.expressions[i])
                                                 : loads(*node.expressions[i]);
      if (found != Found::nothing) return found;
    }
    if (std::ranges::find(node.parameters, name_) != node.parameters.end()) return Found::assigned;
    if (node.call)
      if (const Found found = loads(*node.call); found != Found::nothing) return found;
    if (const Found found = in(node.body); found != Found::nothing) return found;
    return in(node.other);
  }

  const std::string& name_;
};

}  // namespace

bool reads_name(const Body& body, const std::string& name) {
  return NameSearch(name).in(body) == Found::read;
}

}  // namespace trainx::jinja
