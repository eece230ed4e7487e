#include "tokenizer/split_behavior.hpp"
#include "yaml/problems.hpp"
#include <algorithm>

namespace trainx::tokenizer {
namespace {

constexpr std::pair<const char*, SplitBehavior> names[] = {
    {"Removed", SplitBehavior::removed},
    {"Isolated", SplitBehavior::isolated},
    {"MergedWithPrevious", SplitBehavior::merged_with_previous},
    {"MergedWithNext", SplitBehavior::merged_with_next},
    {"Contiguous", SplitBehavior::contiguous}};

/// Joins a span to the one before where `joins(before is a delimiter, this is one)`.
template <class Joins>
void join(std::vector<Span>& spans, Joins&& joins) {
  std::size_t count = 0;
  bool before = false;
  for (const Span span : spans) {
    if (count > 0 && joins(before, span.delimiter)) {
      spans[count - 1].begin = std::min(spans[count - 1].begin, span.begin);
      spans[count - 1].end = std::max(spans[count - 1].end, span.end);
    } else {
      spans[count++] = span;
    }
    before = span.delimiter;
  }
  spans.resize(count);
}

}  // namespace

SplitBehavior split_behavior_of(const Component& c, const char* key, SplitBehavior otherwise) {
  if (!c.has(key)) return otherwise;
  const std::string given = c.text(key);
  for (const auto& [name, behavior] : names)
    if (given == name) return behavior;
  c.refuse("is " + yaml::excerpt(given) +
               ", not Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
           key);
}

void split_spans(const Piece& piece, std::vector<Span>& spans, SplitBehavior behavior,
                 Pieces& out) {
  const auto one_delimiter = [](bool before, bool now) { return now && !before; };
  switch (behavior) {
    case SplitBehavior::removed:
      std::erase_if(spans, [](const Span& s) { return s.delimiter; });
      break;
    case SplitBehavior::isolated: break;
    case SplitBehavior::contiguous:
      join(spans, [](bool before, bool now) { return before == now; });
      break;
    case SplitBehavior::merged_with_previous: join(spans, one_delimiter); break;
    case SplitBehavior::merged_with_next:
      std::ranges::reverse(spans);
      join(spans, one_delimiter);
      std::ranges::reverse(spans);
      break;
  }
  for (const Span& span : spans)
    if (span.end > span.begin)
      out.push_back({piece.text.substr(span.begin, span.end - span.begin),
                     piece.begins_text && span.begin == 0});
}

}  // namespace trainx::tokenizer
