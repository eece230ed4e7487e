#include "tokenizer/unicode/code_point_ranges.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace trainx::tokenizer {

CodePointRanges::CodePointRanges(CodePointClass which) {
  const std::span<const CodePointRange> all = ranges_of(which);
  ranges_.assign(all.begin(), all.end());
}

CodePointRanges& CodePointRanges::operator|=(const CodePointRanges& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  return *this;
}

std::span<const CodePointRange> CodePointRanges::ranges() {
  const auto apart = [](const CodePointRange& a, const CodePointRange& b) {
    return a.last + 1 < b.first;
  };
  const auto touching = [&](const CodePointRange& a, const CodePointRange& b) {
    return !apart(a, b);
  };
  if (std::ranges::adjacent_find(ranges_, touching) == ranges_.end()) return ranges_;
  std::ranges::sort(ranges_, {}, &CodePointRange::first);
  std::size_t kept = 0;
  for (const CodePointRange& r : ranges_) {
    if (kept == 0 || apart(ranges_[kept - 1], r))
      ranges_[kept++] = r;
    else
      ranges_[kept - 1].last = std::max(ranges_[kept - 1].last, r.last);
  }
  ranges_.resize(kept);
  return ranges_;
}

void CodePointRanges::invert() {
  std::vector<CodePointRange> outside;
  std::uint32_t next = 0;
  for (const CodePointRange& r : ranges()) {
    if (r.first > next) outside.push_back({next, r.first - 1});
    next = r.last + 1;
  }
  if (next < code_points) outside.push_back({next, code_points - 1});
  ranges_ = std::move(outside);
}

const CodePointRanges* ranges_of_category(std::string_view name) {
  static std::mutex making;
  static std::map<std::string, std::unique_ptr<const CodePointRanges>, std::less<>> made;
  const std::lock_guard lock(making);
  if (const auto found = made.find(name); found != made.end()) return found->second.get();
  auto set = std::make_unique<CodePointRanges>();
  bool known = false;
  const auto runs = category_runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string_view category = category_names[runs[i].category];
    if (name.empty() || name.size() > 2 || !category.starts_with(name)) continue;
    known = true;
    set->add(runs[i].first, (i + 1 < runs.size() ? runs[i + 1].first : code_points) - 1);
  }
  if (!known) return nullptr;
  set->ranges();  // puts them in order, once
  return (made[std::string(name)] = std::move(set)).get();
}

}  // namespace trainx::tokenizer
