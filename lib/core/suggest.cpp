#include "core/suggest.hpp"
#include <algorithm>

namespace trainx {
namespace {

constexpr std::size_t longest_word = 100;  // what is longer is no typing error

std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Optimal string alignment distance (Damerau-Levenshtein without repeated edits of a pair).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

/// Edits that a typing error takes in a word of this length.
std::size_t allowed_edits(std::size_t length) {
  return length <= 2 ? 0 : length <= 4 ? 1 : length <= 8 ? 2 : 3;
}

}  // namespace

std::optional<std::string> suggest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  const std::string wanted = folded(word);
  const std::string* nearest = nullptr;
  std::size_t fewest = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_word) continue;
    const auto [shorter, longer] = std::minmax({wanted.size(), candidate.size()});
    if (longer - shorter > allowed_edits(longer)) continue;  // each letter more is an edit
    const std::size_t edits = edit_distance(wanted, folded(candidate));
    if (edits <= allowed_edits(std::max(wanted.size(), candidate.size())) &&
        edits < wanted.size() && (!nearest || edits < fewest)) {
      nearest = &candidate;
      fewest = edits;
    }
  }
  if (nearest) return *nearest;
  if (wanted.size() < 3) return std::nullopt;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    if (name.size() < 3 || !(name.starts_with(wanted) || wanted.starts_with(name))) continue;
    if (nearest) return std::nullopt;  // two that fit: a guess would mislead
    nearest = &candidate;
  }
  return nearest ? std::optional<std::string>(*nearest) : std::nullopt;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto near = suggest(word, candidates);
  return near ? " (did you mean '" + *near + "'?)" : "";
}

}  // namespace trainx
