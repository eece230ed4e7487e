#pragma once
#include "jinja/runtime.hpp"
#include "jinja/scope.hpp"
#include "jinja/syntax.hpp"
#include <deque>
#include <string>
#include <vector>

namespace trainx::jinja {

/// What stands around what a generation block writes.
struct Marks {
  std::string begin, end;
};

/// Runs a template once.
class Renderer final : public Runtime {
 public:
  Renderer(const Tree& tree, const Dict& variables, const Marks& marks, const Limits& limits,
           std::time_t now)
      : Runtime(limits, now), tree_(tree), variables_(variables), marks_(marks) {}
  ~Renderer() override { empty_spaces(); }
  std::string run();

 private:
  enum class Flow { next, break_, continue_ };
  friend struct Macro;

  Scope& enter(Scope* outer, const Loads& loads);
  void reload(Scope& scope);
  Value resolve(const std::string& name) const;

  Flow execute(const Body& body, Scope& scope);
  Flow execute(const Statement& node, Scope& scope);
  Flow execute_at(const Statement& node, Scope& scope);
  void write(std::string_view text);
  std::string captured(const Body& body, Scope& scope);
  Flow loop(const Statement& node, Scope& scope);
  Flow run_loop(const Statement& node, Scope& scope, const Value& over, int depth);
  void assign(const Expression& target, const Value& value, Scope& scope);
  Value macro(const Statement& node, Scope& scope);
  Value call_macro(const Statement& node, Scope& outer, const Arguments& arguments);
  void call_block(const Statement& node, Scope& scope);

  Value evaluate(const Expression& node, Scope& scope);
  Value evaluate_at(const Expression& node, Scope& scope);
  Value name(const Expression& node, Scope& scope);
  Value sequence(const Expression& node, Scope& scope);
  Value dict(const Expression& node, Scope& scope);
  Value binary(const Expression& node, Scope& scope);
  Value comparison(const Expression& node, Scope& scope);
  Value item(const Expression& node, Scope& scope);
  Value called(const Expression& node, Scope& scope, const Value* caller);
  /// The filters of a block, of which the first has no value: it gets `text`.
  Value block_filtered(const Expression& node, Scope& scope, const Value& text);
  Arguments arguments(const Expression& node, Scope& scope, std::size_t from);

  const Tree& tree_;
  const Dict& variables_;
  const Marks& marks_;
  std::deque<Scope> scopes_;  // macros keep what is around them
  std::string* out_ = nullptr;
};

}  // namespace trainx::jinja
