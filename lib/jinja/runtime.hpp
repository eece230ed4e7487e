// What values do while a template renders.
#pragma once
#include "jinja/budget.hpp"
#include "jinja/value.hpp"
#include <ctime>
#include <optional>
#include <string>
#include <utility>

namespace trainx::jinja {

class Runtime {
 public:
  Runtime(const Limits& limits, std::time_t now) : budget(limits), now_(now) {}
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Value call(const Value& callee, const Arguments& arguments);
  /// Namespaces may hold themselves: they are emptied when the rendering ends.
  Value make_space(std::shared_ptr<Space> space);
  void empty_spaces();
  std::time_t now() const { return now_; }

  Budget budget;

 private:
  std::time_t now_;
  std::vector<std::shared_ptr<Space>> spaces_;
};

struct Callable : Object {
  std::string description;  // as Python prints it; empty: with an address, which is refused
  virtual Value call(Runtime& runtime, const Arguments& arguments) = 0;
};

/// A callable that runs `run(runtime, arguments)`.
template <class Run>
Value make_callable(Run run) {
  struct Native final : Callable {
    explicit Native(Run given) : run(std::move(given)) {}
    Value call(Runtime& runtime, const Arguments& arguments) override {
      return run(runtime, arguments);
    }
    Run run;
  };
  return {Kind::callable, std::make_shared<Native>(std::move(run))};
}

/// Text that counts towards the limits.
Value made_text(Runtime& runtime, std::string bytes);
Value made_list(Runtime& runtime, Items items);

/// Python's str() and repr(). Throws TemplateError for a list, an object or null of the
/// conversation (Problem::python_text).
std::string to_text(Runtime& runtime, const Value& value);
std::string to_repr(Runtime& runtime, const Value& value);
std::string repr_of_real(double value);
/// What a loop over the value sees. An iterator is empty afterwards.
Items iterate(Runtime& runtime, const Value& value);
/// Python's len().
std::int64_t length_of(const Value& value);

/// value.name, value[key] and value[begin:end:step] as Jinja's sandbox finds them; undefined where
/// there is nothing.
Value attribute_of(Runtime& runtime, const Value& value, const std::string& name);
Value item_of(Runtime& runtime, const Value& value, const Value& key);
Value slice_of(Runtime& runtime, const Value& value, const Value& begin, const Value& end,
               const Value& step);
/// A method of Python's types; undefined kind of value: there is none of this name.
Value text_method(const Value& text, const std::string& name);
Value container_method(const Value& value, const std::string& name);
Value loop_attribute(const Value& loop, const std::string& name);

Value unary(Runtime& runtime, const std::string& op, const Value& value);
Value arithmetic(Runtime& runtime, const std::string& op, const Value& a, const Value& b);
bool compare(Runtime& runtime, const std::string& op, const Value& a, const Value& b);
bool contains(Runtime& runtime, const Value& container, const Value& value);

Value apply_filter(Runtime& runtime, const std::string& name, const Value& value,
                   const Arguments& arguments);
bool apply_test(Runtime& runtime, const std::string& name, const Value& value,
                const Arguments& arguments);
bool is_filter(const std::string& name);
bool is_test(const std::string& name);
/// A function that every template can call; nothing: it is none.
std::optional<Value> global(const std::string& name);

/// Python's `text % values` and str.format.
std::string format_percent(Runtime& runtime, const std::string& pattern, const Value& values);
std::string format_braces(Runtime& runtime, const std::string& pattern, const Arguments& arguments);
std::string escape_html(const std::string& text);

}  // namespace trainx::jinja
