// The expressions of a template.
#include "jinja/bound.hpp"
#include "jinja/renderer.hpp"
#include <algorithm>

namespace trainx::jinja {

/// Failures name the line of the innermost expression.
Value Renderer::evaluate(const Expression& node, Scope& scope) {
  const Budget::Level level(budget);
  budget.step();
  try {
    return evaluate_at(node, scope);
  } catch (const TemplateError& problem) { throw problem.at_line(node.line); }
}

Value Renderer::evaluate_at(const Expression& node, Scope& scope) {
  switch (node.kind) {
    case ExpressionKind::constant: return node.constant;
    case ExpressionKind::name: return name(node, scope);
    case ExpressionKind::tuple:
    case ExpressionKind::list: return sequence(node, scope);
    case ExpressionKind::dict: return dict(node, scope);
    case ExpressionKind::unary: return unary(*this, node.name, evaluate(*node.children[0], scope));
    case ExpressionKind::binary: return binary(node, scope);
    case ExpressionKind::compare: return comparison(node, scope);
    case ExpressionKind::concat: {
      std::string out;
      for (const auto& child : node.children) {
        out += to_text(*this, evaluate(*child, scope));
        budget.take(out.size() / 4);
      }
      return made_text(*this, std::move(out));
    }
    case ExpressionKind::conditional:
      if (is_true(evaluate(*node.children[1], scope))) return evaluate(*node.children[0], scope);
      if (node.children[2]) return evaluate(*node.children[2], scope);
      return Value::undefined("the inline if-expression on line " + std::to_string(node.line) +
                              " evaluated to false and no else section was defined.");
    case ExpressionKind::attribute:
      return attribute_of(*this, evaluate(*node.children[0], scope), node.name);
    case ExpressionKind::item: return item(node, scope);
    case ExpressionKind::slice: fail("a slice stands outside of brackets");
    case ExpressionKind::call: return called(node, scope, nullptr);
    case ExpressionKind::filter: {
      const Value value = evaluate(*node.children[0], scope);
      return apply_filter(*this, node.name, value, arguments(node, scope, 1));
    }
    case ExpressionKind::test: {
      const Value value = evaluate(*node.children[0], scope);
      return Value::boolean(apply_test(*this, node.name, value, arguments(node, scope, 1)));
    }
  }
  return {};
}

Value Renderer::name(const Expression& node, Scope& scope) {
  const Scope::Slot& slot = scope.at(node.place);
  if (slot.there || slot.value.object()) return slot.value;
  return Value::undefined("'" + node.name + "' is undefined");
}

Value Renderer::sequence(const Expression& node, Scope& scope) {
  Items items;
  for (const auto& child : node.children) items.push_back(evaluate(*child, scope));
  budget.take_items(items.size() + 1);
  return node.kind == ExpressionKind::list ? Value::list(std::move(items))
                                           : Value::tuple(std::move(items));
}

Value Renderer::dict(const Expression& node, Scope& scope) {
  auto out = std::make_shared<Dict>();
  budget.take_items(node.children.size() * 2 + 1);
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const Value key = evaluate(*node.children[i], scope);
    if (!is_hashable(key)) fail("unhashable type: '" + type_name(key) + "'");
    out->set(key, evaluate(*node.children[i + 1], scope));
  }
  return make_dict(std::move(out));
}

Value Renderer::binary(const Expression& node, Scope& scope) {
  Value left = evaluate(*node.children[0], scope);
  if (node.name == "and") return is_true(left) ? evaluate(*node.children[1], scope) : left;
  if (node.name == "or") return is_true(left) ? left : evaluate(*node.children[1], scope);
  return arithmetic(*this, node.name, left, evaluate(*node.children[1], scope));
}

Value Renderer::comparison(const Expression& node, Scope& scope) {
  Value left = evaluate(*node.children[0], scope);
  for (std::size_t i = 0; i < node.names.size(); ++i) {
    Value right = evaluate(*node.children[i + 1], scope);
    if (!compare(*this, node.names[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Renderer::item(const Expression& node, Scope& scope) {
  const Value value = evaluate(*node.children[0], scope);
  const Expression& key = *node.children[1];
  if (key.kind != ExpressionKind::slice) return item_of(*this, value, evaluate(key, scope));
  const auto part = [&](std::size_t i) {
    return key.children[i] ? evaluate(*key.children[i], scope) : Value::none();
  };
  const Value begin = part(0), end = part(1), step = part(2);
  return slice_of(*this, value, begin, end, step);
}

Arguments Renderer::arguments(const Expression& node, Scope& scope, std::size_t from) {
  Arguments out;
  const std::size_t count = node.children.size() - node.names.size();
  for (std::size_t i = from; i < count; ++i)
    out.positional.push_back(evaluate(*node.children[i], scope));
  for (std::size_t i = 0; i < node.names.size(); ++i) {
    for (const auto& [name, value] : out.named)
      if (name == node.names[i]) fail("keyword argument repeated: " + name);
    out.named.emplace_back(node.names[i], evaluate(*node.children[count + i], scope));
  }
  if (node.positional)
    for (const Value& one : iterate(*this, evaluate(*node.positional, scope)))
      out.positional.push_back(one);
  if (node.keywords) {
    const Value more = evaluate(*node.keywords, scope);
    if (!more.is(Kind::dict)) fail("argument after ** must be a mapping");
    for (const auto& [key, value] : more.as<Dict>().entries())
      out.named.emplace_back(need_text(key, "**"), value);
  }
  return out;
}

Value Renderer::called(const Expression& node, Scope& scope, const Value* caller) {
  const Value callee = evaluate(*node.children[0], scope);
  Arguments given = arguments(node, scope, 1);
  if (caller) given.named.emplace_back("caller", *caller);
  return call(callee, given);
}

Value Renderer::block_filtered(const Expression& node, Scope& scope, const Value& text) {
  const Value value = node.children[0] ? block_filtered(*node.children[0], scope, text) : text;
  return apply_filter(*this, node.name, value, arguments(node, scope, 1));
}

}  // namespace trainx::jinja
