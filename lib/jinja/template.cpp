#include "jinja/template.hpp"
#include "jinja/parser.hpp"
#include <algorithm>

namespace trainx::jinja {
namespace {

bool holds_generation(const Body& body) {
  return std::ranges::any_of(body, [](const StatementPtr& node) {
    return node->kind == StatementKind::generation || holds_generation(node->body) ||
           holds_generation(node->other);
  });
}

}  // namespace

Template::Template(const std::string& source)
    : tree_(parse(source)), has_generation_(holds_generation(tree_.body)) {}

std::string Template::render(const Dict& variables, const Marks& marks, std::time_t now,
                             const Limits& limits) const {
  return Renderer(tree_, variables, marks, limits, now).run();
}

}  // namespace trainx::jinja
