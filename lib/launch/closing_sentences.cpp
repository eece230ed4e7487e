#include "launch/closing_sentences.hpp"

namespace trainx::launch {

std::string rank_prefix(const std::set<int>& ranks) {
  std::string text;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first, next = std::next(first);
    while (next != ranks.end() && *next == *last + 1) last = next++;
    text += (text.empty() ? "" : ",") + std::to_string(*first) +
            (last == first ? "" : "-" + std::to_string(*last));
    first = next;
  }
  return (ranks.size() > 1 ? "[ranks " : "[rank ") + text + "] ";
}

std::string without_colors(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) != "\033[") {
      plain += text[i];
      continue;
    }
    i += 2;  // parameters, then the letter that ends the sequence
    while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
  }
  return plain;
}

bool ClosingSentences::keep(int rank, std::string_view line, Time now) {
  const bool goes_on = kept_.contains(rank);
  if (!goes_on && !without_colors(line).starts_with("trainx:")) return false;
  if (kept_.empty()) since_ = now;
  kept_[rank] += std::string(line) + "\n";
  return true;
}

std::vector<std::string> ClosingSentences::release() {
  std::vector<std::pair<std::string, std::set<int>>> groups;  // in the order of their first rank
  for (const auto& [rank, text] : kept_) {
    auto group = groups.begin();
    while (group != groups.end() && without_colors(group->first) != without_colors(text)) ++group;
    if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
    group->second.insert(rank);
  }
  kept_.clear();
  std::vector<std::string> lines;
  for (const auto& [text, ranks] : groups) {
    if (!told_.insert(without_colors(text)).second) continue;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      lines.push_back(rank_prefix(ranks) + text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return lines;
}

}  // namespace trainx::launch
