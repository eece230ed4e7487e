#include "tokenizer/unicode/code_point_set.hpp"
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace trainx::tokenizer {
namespace {

std::mutex making;

}  // namespace

const CodePointSet& set_of(CodePointClass which) {
  static std::map<CodePointClass, std::unique_ptr<const CodePointSet>> made;
  const std::lock_guard lock(making);
  auto& set = made[which];
  if (!set) set = std::make_unique<const CodePointSet>(which);
  return *set;
}

const CodePointSet* set_of_category(std::string_view name) {
  static std::map<std::string, std::unique_ptr<const CodePointSet>, std::less<>> made;
  const std::lock_guard lock(making);
  if (const auto found = made.find(name); found != made.end()) return found->second.get();
  auto set = std::make_unique<CodePointSet>();
  bool known = false;
  const auto runs = category_runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string_view category = category_names[runs[i].category];
    if (name.empty() || name.size() > 2 || !category.starts_with(name)) continue;
    known = true;
    set->add(runs[i].first, (i + 1 < runs.size() ? runs[i + 1].first : code_points) - 1);
  }
  if (!known) return nullptr;
  return (made[std::string(name)] = std::move(set)).get();
}

}  // namespace trainx::tokenizer
