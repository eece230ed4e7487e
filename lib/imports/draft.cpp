#include "imports/draft.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::imports {

std::string to_string(const Leftover& l) {
  return yaml::to_string(l.where) + ": " + l.key + ": " + (l.value.empty() ? "" : l.value + ": ") +
         l.why;
}

void Draft::set(const std::string& key, Value value) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    values_.emplace(key, std::move(value));
    return;
  }
  Value& there = found->second;
  if (value.weight == Weight::assumed) return;
  if (there.weight == Weight::said && there.text != value.text)
    throw UserError(ExitCode::bad_data, yaml::to_string(value.where) + ": " + value.origin + " (" +
                                            value.text + ") contradicts " + there.origin + " (" +
                                            there.text + ") at " + yaml::to_string(there.where) +
                                            "; remove one of them, or make them equal");
  there = std::move(value);
}

const Value* Draft::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Draft::leave(Leftover leftover) {
  const auto same = [&](const Leftover& l) {
    return l.where == leftover.where && l.key == leftover.key && l.why == leftover.why;
  };
  if (std::ranges::none_of(leftovers_, same)) leftovers_.push_back(std::move(leftover));
}

std::vector<Leftover> Draft::leftovers() const {
  std::vector<Leftover> sorted = leftovers_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Leftover& a, const Leftover& b) {
    return a.differs != b.differs ? a.differs : a.where < b.where;
  });
  return sorted;
}

}  // namespace trainx::imports
