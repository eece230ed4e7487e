#include "data/labelled/shorten.hpp"
#include <algorithm>

namespace trainx::data::labelled {
namespace {

struct Range {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Where one text ends and another begins; nothing where there is one text, or no telling.
bool split_pair(std::span<const std::int64_t> ids, std::span<const std::int64_t> types,
                std::span<const std::int64_t> special, const Range& texts, Range& first,
                Range& second) {
  const auto is_special = [&](std::size_t i) {
    return std::ranges::binary_search(special, ids[i]);
  };
  std::vector<Range> runs;
  for (std::size_t i = texts.begin; i < texts.end; ++i) {
    if (!is_special(i)) continue;
    if (runs.empty() || runs.back().end < i) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  const auto is_edge = [&](const Range& run) {
    return types.empty() || types[run.begin] != types[run.end];
  };
  const auto edge = types.empty() && runs.size() != 1 ? runs.end()
                                                      : std::ranges::find_if(runs, is_edge);
  if (edge == runs.end()) return false;
  first = {texts.begin, edge->begin};
  second = {edge->end, texts.end};
  return true;
}

/// Tokens of two texts that fit into `most`: the longer gives first, as
/// longest_first of Hugging Face's tokenizers.
std::pair<std::size_t, std::size_t> fitting(std::size_t a, std::size_t b, std::size_t most) {
  std::size_t shorter = std::min(a, b), longer = std::max(a, b);
  longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = most - shorter;
  }
  return a > b ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

}  // namespace

std::vector<std::size_t> places_to_keep(std::span<const std::int64_t> ids,
                                        std::span<const std::int64_t> types,
                                        std::span<const std::int64_t> special, std::size_t most) {
  Range texts{0, ids.size()};
  const auto is_special = [&](std::size_t i) {
    return std::ranges::binary_search(special, ids[i]);
  };
  while (texts.begin < texts.end && is_special(texts.begin)) ++texts.begin;
  while (texts.end > texts.begin && is_special(texts.end - 1)) --texts.end;
  Range first = texts, second{texts.end, texts.end};
  split_pair(ids, types, special, texts, first, second);
  const std::size_t around = ids.size() - first.size() - second.size();
  if (special.empty() || around == 0 || around > most) return {};
  const auto [a, b] = second.size() == 0 ? std::pair(most - around, std::size_t{0})
                                         : fitting(first.size(), second.size(), most - around);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool cut = (i >= first.begin + a && i < first.end) ||
                     (i >= second.begin + b && i < second.end);
    if (!cut) places.push_back(i);
  }
  return places;
}

void keep_places(std::span<const std::size_t> places, Field& field) {
  if (!field.given || (!places.empty() && places.back() >= field.values.size())) return;
  std::vector<std::int64_t> kept;
  kept.reserve(places.size());
  for (const std::size_t place : places) kept.push_back(field.values[place]);
  field.values = std::move(kept);
}

}  // namespace trainx::data::labelled
