#pragma once
#include "jinja/runtime.hpp"
#include <functional>
#include <optional>

namespace trainx::jinja {

/// The variable `loop`: it looks at items one after another, as far as a template asks.
class Loop final : public Object {
 public:
  using Accepts = std::function<bool(const Value&)>;
  /// `accepts`: the loop's condition; none: every item.
  Loop(Items items, Accepts accepts);

  /// Goes to the next item; false at the end.
  bool advance();
  const Value& current() const { return current_; }
  /// `self` is this loop.
  Value attribute(const Value& self, const std::string& name);
  Value recurse(Runtime& runtime, const Arguments& arguments);
  /// Lets go of all values: they may hold the loop itself.
  void finish();
  /// As Python prints it.
  std::string description() {
    return "<LoopContext " + std::to_string(index0_ + 1) + "/" + std::to_string(length()) + ">";
  }

  std::function<Value(const Value& items, int depth)> recursive;  // none: the loop is not
  int depth0 = 0;

 private:
  const std::optional<Value>& peek();
  std::int64_t length();
  Value changed(const Items& values);

  Items items_;
  Accepts accepts_;
  std::size_t at_ = 0;
  std::int64_t index0_ = -1;
  Value current_, before_;
  bool peeked_ = false, finished_ = false;
  std::optional<Value> after_;
  std::optional<Items> last_;  // arguments of changed()
};

}  // namespace trainx::jinja
