#include "jinja/renderer.hpp"
#include "jinja/loop.hpp"
#include <algorithm>
#include <utility>

namespace trainx::jinja {
namespace {

/// Writes into another text as long as this lives.
class Redirected {
 public:
  Redirected(std::string*& place, std::string& text)
      : place_(place), before_(std::exchange(place, &text)) {}
  ~Redirected() { place_ = before_; }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  std::string*& place_;
  std::string* before_;
};

}  // namespace

struct Macro final : Callable {
  Macro(Renderer& r, const Statement& n, Scope& s) : renderer(r), node(n), scope(s) {}
  Value call(Runtime&, const Arguments& arguments) override {
    return renderer.call_macro(node, scope, arguments);
  }
  Renderer& renderer;
  const Statement& node;
  Scope& scope;
};

std::string Renderer::run() {
  std::string out;
  out_ = &out;
  Scope& root = enter(nullptr, tree_.loads);
  execute(tree_.body, root);
  return out;
}

Scope& Renderer::enter(Scope* outer, const Loads& loads) {
  budget.take_items(loads.size() + 2);
  Scope& scope = scopes_.emplace_back();
  scope.outer = outer;
  scope.loads = &loads;
  reload(scope);
  return scope;
}

void Renderer::reload(Scope& scope) {
  scope.slots.assign(scope.loads->size(), {});
  for (std::size_t i = 0; i < scope.slots.size(); ++i) {
    const Load& load = (*scope.loads)[i];
    if (load.kind == LoadKind::resolve) {
      Value value = resolve(load.name);
      scope.slots[i].there = !value.is(Kind::undefined);
      scope.slots[i].value = std::move(value);
    } else if (load.kind == LoadKind::alias) {
      scope.slots[i] = scope.at(load.from);
    }
  }
}

Value Renderer::resolve(const std::string& name) const {
  if (const Value* found = variables_.find(std::string_view(name))) return *found;
  return global(name).value_or(Value());
}

void Renderer::write(std::string_view text) {
  if (text.empty()) return;
  budget.take(text.size());
  out_->append(text);
}

std::string Renderer::captured(const Body& body, Scope& scope) {
  std::string text;
  const Redirected out(out_, text);
  execute(body, scope);
  return text;
}

Renderer::Flow Renderer::execute(const Body& body, Scope& scope) {
  for (const auto& statement : body)
    if (const Flow flow = execute(*statement, scope); flow != Flow::next) return flow;
  return Flow::next;
}

Renderer::Flow Renderer::execute(const Statement& node, Scope& scope) {
  const Budget::Level level(budget);
  budget.step();
  try {
    return execute_at(node, scope);
  } catch (const TemplateError& problem) { throw problem.at_line(node.line); }
}

Renderer::Flow Renderer::execute_at(const Statement& node, Scope& scope) {
  switch (node.kind) {
    case StatementKind::data: write(node.text); break;
    case StatementKind::output: write(to_text(*this, evaluate(*node.expressions[0], scope))); break;
    case StatementKind::if_:
      return execute(is_true(evaluate(*node.expressions[0], scope)) ? node.body : node.other,
                     scope);
    case StatementKind::for_: return loop(node, scope);
    case StatementKind::set:
      assign(*node.expressions[0], evaluate(*node.expressions[1], scope), scope);
      break;
    case StatementKind::set_block: {
      Scope& inner = enter(&scope, node.loads);
      Value value = made_text(*this, captured(node.body, inner));
      if (node.expressions[1]) value = block_filtered(*node.expressions[1], inner, value);
      assign(*node.expressions[0], value, scope);
      break;
    }
    case StatementKind::macro: scope.set(node.place, macro(node, scope)); break;
    case StatementKind::call: call_block(node, scope); break;
    case StatementKind::filter: {
      Scope& inner = enter(&scope, node.loads);
      const Value value = made_text(*this, captured(node.body, inner));
      write(to_text(*this, block_filtered(*node.expressions[0], inner, value)));
      break;
    }
    case StatementKind::with: {
      Scope& inner = enter(&scope, node.loads);
      for (std::size_t i = 0; i < node.targets.size(); ++i)
        assign(*node.targets[i], evaluate(*node.expressions[i], scope), inner);
      return execute(node.body, inner);
    }
    case StatementKind::generation: {
      Scope& inner = enter(&scope, node.loads);
      const std::string text = captured(node.body, inner);
      write(marks_.begin);
      write(text);
      write(marks_.end);
      break;
    }
    case StatementKind::break_: return Flow::break_;
    case StatementKind::continue_: return Flow::continue_;
  }
  return Flow::next;
}

Renderer::Flow Renderer::loop(const Statement& node, Scope& scope) {
  return run_loop(node, scope, evaluate(*node.expressions[1], scope), 0);
}

Renderer::Flow Renderer::run_loop(const Statement& node, Scope& scope, const Value& over,
                                  int depth) {
  Loop::Accepts accepts;
  if (node.expressions[2]) {
    Scope& test = enter(&scope, node.test_loads);
    accepts = [this, &node, &test](const Value& item) {
      reload(test);
      assign(*node.targets[0], item, test);
      return is_true(evaluate(*node.expressions[2], test));
    };
  }
  auto state = std::make_shared<Loop>(iterate(*this, over), std::move(accepts));
  struct Finish {
    Loop& loop;
    ~Finish() { loop.finish(); }
  } const finish{*state};
  state->depth0 = depth;
  if (node.recursive)
    state->recursive = [this, &node, &scope](const Value& items, int level) {
      std::string text;
      const Redirected out(out_, text);
      run_loop(node, scope, items, level);
      return made_text(*this, std::move(text));
    };
  Scope& inner = enter(&scope, node.loads);
  bool ran = false;
  while (state->advance()) {
    ran = true;
    budget.step();
    reload(inner);
    inner.slots[node.loop] = {Value(Kind::loop, state), true};
    assign(*node.expressions[0], state->current(), inner);
    if (execute(node.body, inner) == Flow::break_) break;
  }
  if (ran) {
    inner.slots.assign(inner.slots.size(), {});
    return Flow::next;
  }
  if (node.other.empty()) return Flow::next;
  return execute(node.other, enter(&scope, node.other_loads));
}

void Renderer::assign(const Expression& target, const Value& value, Scope& scope) {
  if (target.kind == ExpressionKind::name) return scope.set(target.place, value);
  if (target.kind == ExpressionKind::attribute) {
    const Value space = name(*target.children[0], scope);
    if (!space.is(Kind::space)) fail("cannot assign attribute on non-namespace object");
    if (target.name.starts_with('_'))
      fail("a namespace has no attribute that begins with an underscore");
    Object holder;
    hold(holder, value);
    return space.as<Space>().values.set(target.name, value);
  }
  const Items items = iterate(*this, value);
  if (items.size() != target.children.size())
    fail("expected " + std::to_string(target.children.size()) + " values to assign, not " +
         std::to_string(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.children[i], items[i], scope);
}

Value Renderer::macro(const Statement& node, Scope& scope) {
  budget.take_items(2);
  auto out = std::make_shared<Macro>(*this, node, scope);
  out->description = node.text.empty() ? "<Macro anonymous>" : "<Macro '" + node.text + "'>";
  return {Kind::callable, std::move(out)};
}

Value Renderer::call_macro(const Statement& node, Scope& outer, const Arguments& arguments) {
  const Budget::Level level(budget);
  Scope& scope = enter(&outer, node.loads);
  const std::size_t count = node.parameters.size();
  const auto slot = [&](std::size_t i) -> Scope::Slot& { return scope.slots[node.slots[i]]; };
  const std::size_t given = std::min(count, arguments.positional.size());
  for (std::size_t i = 0; i < given; ++i) slot(i) = {arguments.positional[i], true};
  Value caller = Value::undefined("No caller defined");
  auto others = std::make_shared<Dict>();
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(node.parameters, name);
    const auto i = static_cast<std::size_t>(found - node.parameters.begin());
    if (i < count && i >= given)
      slot(i) = {value, true};
    else if (name == "caller" && node.uses_caller && i == count)
      caller = value;
    else if (node.uses_kwargs)
      others->set(name, value);
    else
      fail("macro '" + node.text + "' takes no keyword argument '" + name + "'");
  }
  if (arguments.positional.size() > count && !node.uses_varargs)
    fail("macro '" + node.text + "' takes not more than " + std::to_string(count) + " argument(s)");
  const bool own_caller = std::ranges::find(node.parameters, "caller") != node.parameters.end();
  if (node.uses_caller && !own_caller) scope.slots[node.caller] = {caller, true};
  if (node.uses_kwargs) scope.slots[node.kwargs] = {make_dict(others), true};
  if (node.uses_varargs)
    scope.slots[node.varargs] = {
        Value::tuple({arguments.positional.begin() + static_cast<std::ptrdiff_t>(given),
                      arguments.positional.end()}),
        true};
  const std::size_t without_default = count - node.expressions.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (slot(i).there) continue;
    if (i >= without_default)
      slot(i) = {evaluate(*node.expressions[i - without_default], scope), true};
    else
      slot(i).value = Value::undefined("parameter '" + node.parameters[i] + "' was not provided");
  }
  return made_text(*this, captured(node.body, scope));
}

void Renderer::call_block(const Statement& node, Scope& scope) {
  const Value caller = macro(node, scope);
  write(to_text(*this, called(*node.call, scope, &caller)));
}

}  // namespace trainx::jinja
