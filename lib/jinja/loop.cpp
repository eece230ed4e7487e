#include "jinja/loop.hpp"
#include <algorithm>
#include <utility>

namespace trainx::jinja {

Loop::Loop(Items items, Accepts accepts) : items_(std::move(items)), accepts_(std::move(accepts)) {
  for (const Value& item : items_) hold(*this, item);
}

const std::optional<Value>& Loop::peek() {
  if (peeked_) return after_;
  peeked_ = true;
  after_.reset();
  while (at_ < items_.size()) {
    const Value& item = items_[at_++];
    if (accepts_ && !accepts_(item)) continue;
    after_ = item;
    break;
  }
  return after_;
}

bool Loop::advance() {
  if (!peek()) return false;
  peeked_ = false;
  before_ = std::exchange(current_, *after_);
  ++index0_;
  return true;
}

std::int64_t Loop::length() {
  if (!accepts_) return static_cast<std::int64_t>(items_.size());
  // The items that are left are looked at now.
  Items left;
  const bool peeked = peeked_;
  const std::optional<Value> after = after_;
  for (; at_ < items_.size(); ++at_)
    if (accepts_(items_[at_])) left.push_back(items_[at_]);
  const auto count = static_cast<std::int64_t>(left.size());
  const std::int64_t seen = index0_ + 1 + (peeked && after ? 1 : 0);
  // From here on each item is known: those behind the current one stay.
  items_ = std::move(left);
  at_ = 0;
  items_.insert(items_.begin(), static_cast<std::size_t>(seen), Value());
  at_ = static_cast<std::size_t>(seen);
  accepts_ = nullptr;
  return seen + count;
}

Value Loop::changed(const Items& values) {
  const bool same = last_ && last_->size() == values.size() &&
                    std::ranges::equal(*last_, values,
                                       [](const Value& a, const Value& b) { return equal(a, b); });
  if (!same) last_ = values;
  return Value::boolean(!same);
}

void Loop::finish() {
  finished_ = true;
  items_.clear();
  accepts_ = nullptr;
  recursive = nullptr;
  after_.reset();
  last_.reset();
  current_ = before_ = Value();
}

Value Loop::attribute(const Value& self, const std::string& name) {
  if (finished_) unsupported("the variable of a loop that has ended");
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(!peek());
  if (name == "length") return Value::integer(length());
  if (name == "revindex0") return Value::integer(length() - index0_ - 1);
  if (name == "revindex") return Value::integer(length() - index0_);
  if (name == "depth0") return Value::integer(depth0);
  if (name == "depth") return Value::integer(depth0 + 1);
  if (name == "previtem")
    return index0_ == 0 ? Value::undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek() ? *peek() : Value::undefined("there is no next item");
  if (name == "cycle") {
    const std::int64_t index = index0_;
    return make_callable([index](Runtime&, const Arguments& a) {
      if (a.positional.empty()) fail("no items for cycling given");
      return a.positional[static_cast<std::size_t>(index) % a.positional.size()];
    });
  }
  if (name == "changed") {
    return make_callable(
        [self](Runtime&, const Arguments& a) { return self.as<Loop>().changed(a.positional); });
  }
  return Value::undefined("a loop has no attribute '" + name + "'");
}

Value Loop::recurse(Runtime&, const Arguments& arguments) {
  if (!recursive) fail("the loop must be marked recursive to be called");
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    fail("a loop is called with what it runs over");
  return recursive(arguments.positional[0], depth0 + 1);
}

Value loop_attribute(const Value& loop, const std::string& name) {
  return loop.as<Loop>().attribute(loop, name);
}

}  // namespace trainx::jinja
