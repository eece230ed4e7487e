#include "adapter/minimal_suffixes.hpp"
#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace trainx::adapter {
namespace {

/// The ends of a name at its dots, shortest first; the last is the name.
std::vector<std::string> ends_of(const std::string& name) {
  std::vector<std::string> ends;
  for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
       dot = name.rfind('.', dot - 1))
    ends.push_back(name.substr(dot + 1));
  ends.push_back(name);
  return ends;
}

}  // namespace

std::vector<std::string> minimal_suffixes(const std::vector<std::string>& targets,
                                          const std::vector<std::string>& others) {
  std::unordered_set<std::string> other_ends;
  for (const std::string& name : others)
    for (std::string& end : ends_of(name)) other_ends.insert(std::move(end));
  std::vector<std::vector<std::string>> candidates;
  for (const std::string& target : targets) candidates.push_back(ends_of(target));
  std::ranges::sort(candidates);
  std::set<std::string> required;
  for (const auto& ends : candidates) {
    const auto is_covered = [&] {
      // Ends that are the whole name do not count: PEFT compares with a dot in front.
      return std::any_of(ends.begin(), ends.end() - 1,
                         [&](const std::string& end) { return required.contains(end); });
    };
    if (is_covered()) continue;
    for (const std::string& end : ends)
      if (!required.contains(end) && !other_ends.contains(end)) {
        required.insert(end);
        break;
      }
  }
  if (required.empty() || required.size() >= targets.size()) return targets;
  return {required.begin(), required.end()};
}

}  // namespace trainx::adapter
