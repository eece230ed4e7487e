#include "jinja/names.hpp"
#include "jinja/symbols.hpp"
#include "jinja/walk.hpp"

namespace trainx::jinja {
namespace {

/// What a scope reads and assigns, in the order of its statements.
class Survey {
 public:
  explicit Survey(Symbols& symbols) : symbols_(&symbols) {}

  void visit(const Body& body) {
    for (const auto& statement : body) visit(*statement);
  }
  void loads(Expression& node) {
    if (node.kind == ExpressionKind::name) symbols_->load(node.name);
    for_each_child(node, [&](Expression& child) { loads(child); });
  }
  void parameters(const Expression& target) {
    if (target.kind == ExpressionKind::name) symbols_->declare_parameter(target.name);
    for (const auto& child : target.children) parameters(*child);
  }

 private:
  void stores(Expression& target) {
    if (target.kind == ExpressionKind::attribute) return loads(target);
    if (target.kind == ExpressionKind::name) symbols_->store(target.name);
    for (const auto& child : target.children) stores(*child);
  }
  void visit(const Statement& node) {
    switch (node.kind) {
      case StatementKind::output: return loads(*node.expressions[0]);
      case StatementKind::if_: return branches(node);
      case StatementKind::for_: return loads(*node.expressions[1]);
      case StatementKind::set: loads(*node.expressions[1]); return stores(*node.expressions[0]);
      case StatementKind::set_block: return stores(*node.expressions[0]);
      case StatementKind::macro: return symbols_->store(node.text);
      case StatementKind::call: return loads(*node.call);
      case StatementKind::filter: return loads(*node.expressions[0]);
      case StatementKind::with:
        for (const auto& value : node.expressions) loads(*value);
        return;
      default: return;
    }
  }
  void branches(const Statement& node) {
    loads(*node.expressions[0]);
    std::vector<Symbols> out;
    for (const Body* body : {&node.body, &node.other}) {
      Symbols branch = symbols_->branch();
      Survey(branch).visit(*body);
      out.push_back(std::move(branch));
    }
    symbols_->join(out);
  }

  Symbols* symbols_;
};

ExpressionPtr copy_of_target(const Expression& target) {
  auto out = std::make_unique<Expression>();
  out->kind = target.kind;
  out->line = target.line;
  out->name = target.name;
  for (const auto& child : target.children) out->children.push_back(copy_of_target(*child));
  return out;
}

void resolve(Expression& node, Symbols& symbols) {
  if (node.kind == ExpressionKind::name) {
    symbols.load(node.name);
    node.place = *symbols.find(node.name);
  }
  for_each_child(node, [&](Expression& child) { resolve(child, symbols); });
}

void resolve(Body& body, Symbols& symbols);

void resolve_loop(Statement& node, Symbols& outer) {
  resolve(*node.expressions[1], outer);
  Symbols inner(&outer);
  node.loop = inner.declare_parameter("loop");
  Survey survey(inner);
  survey.parameters(*node.expressions[0]);
  survey.visit(node.body);
  resolve(*node.expressions[0], inner);
  resolve(node.body, inner);
  node.loads = inner.loads();
  if (node.expressions[2]) {
    Symbols test(&outer);
    node.targets.push_back(copy_of_target(*node.expressions[0]));
    Survey of_test(test);
    of_test.parameters(*node.targets[0]);
    of_test.loads(*node.expressions[2]);
    resolve(*node.targets[0], test);
    resolve(*node.expressions[2], test);
    node.test_loads = test.loads();
  }
  Symbols other(&outer);
  Survey(other).visit(node.other);
  resolve(node.other, other);
  node.other_loads = other.loads();
}

/// Also of a call block.
void resolve_macro(Statement& node, Symbols& outer) {
  if (node.kind == StatementKind::macro) node.place = *outer.find(node.text);
  if (node.call) resolve(*node.call, outer);
  Symbols inner(&outer);
  for (const std::string& name : node.parameters)
    node.slots.push_back(inner.declare_parameter(name));
  if (node.uses_caller) node.caller = inner.declare_parameter("caller");
  if (node.uses_kwargs) node.kwargs = inner.declare_parameter("kwargs");
  if (node.uses_varargs) node.varargs = inner.declare_parameter("varargs");
  Survey survey(inner);
  for (const auto& value : node.expressions) survey.loads(*value);
  survey.visit(node.body);
  for (const auto& value : node.expressions) resolve(*value, inner);
  resolve(node.body, inner);
  node.loads = inner.loads();
}

/// A scope that has no variables of its own at first.
void resolve_inner(Statement& node, Symbols& outer) {
  Symbols inner(&outer);
  Survey survey(inner);
  for (const auto& target : node.targets) survey.parameters(*target);
  survey.visit(node.body);
  if (node.kind == StatementKind::filter) survey.loads(*node.expressions[0]);
  if (node.kind == StatementKind::set_block) {
    resolve(*node.expressions[0], outer);
    if (node.expressions[1]) resolve(*node.expressions[1], inner);
  }
  if (node.kind == StatementKind::filter) resolve(*node.expressions[0], inner);
  if (node.kind == StatementKind::with)
    for (const auto& value : node.expressions) resolve(*value, outer);
  for (const auto& target : node.targets) resolve(*target, inner);
  resolve(node.body, inner);
  node.loads = inner.loads();
}

void resolve(Body& body, Symbols& symbols) {
  for (const auto& statement : body) {
    Statement& node = *statement;
    switch (node.kind) {
      case StatementKind::for_: resolve_loop(node, symbols); break;
      case StatementKind::macro:
      case StatementKind::call: resolve_macro(node, symbols); break;
      case StatementKind::set_block:
      case StatementKind::filter:
      case StatementKind::with:
      case StatementKind::generation: resolve_inner(node, symbols); break;
      default:
        for (const auto& expression : node.expressions)
          if (expression) resolve(*expression, symbols);
        resolve(node.body, symbols);
        resolve(node.other, symbols);
    }
  }
}

}  // namespace

void resolve_names(Tree& tree) {
  Symbols root(nullptr);
  Survey(root).visit(tree.body);
  resolve(tree.body, root);
  tree.loads = root.loads();
}

}  // namespace trainx::jinja
