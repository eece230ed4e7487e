#include "yaml/problems.hpp"
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

namespace trainx::yaml {
namespace {

/// Control characters escaped, those of C1 (U+0080 to U+009F, of which terminals take some as
/// commands) too; cut to `longest` bytes of text.
std::string printable(std::string_view text, std::size_t longest) {
  std::string out;
  std::size_t end = std::min(text.size(), longest);
  // not inside a UTF-8 character
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  for (std::size_t i = 0; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xC2 && i + 1 < end && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte >= 0x20 && byte != 0x7F && !c1) {
      out += text[i];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x",
                    c1 ? static_cast<unsigned char>(text[++i]) : byte);
      out += escape;
    }
  }
  return out + (end < text.size() ? "..." : "");
}

}  // namespace

std::string to_string(const Location& where) {
  return where.line == 0
             ? where.file
             : where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
}

void Problems::add(Location where, std::string key, std::string sentence) {
  all_.push_back({std::move(where), std::move(key), std::move(sentence)});
}

std::vector<Problem> Problems::listed() const {
  constexpr std::size_t most_lines = 500;  // beyond that it is not a recipe
  std::map<std::string, std::size_t> rank;
  for (const Added& p : all_) rank.emplace(p.where.file, rank.size());
  std::vector<const Added*> sorted;
  for (const Added& p : all_) sorted.push_back(&p);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Added* a, const Added* b) {
    return std::tuple(rank[a->where.file], a->where.line, a->where.column) <
           std::tuple(rank[b->where.file], b->where.line, b->where.column);
  });
  std::vector<Problem> out;
  std::set<std::string> told;
  for (const Added* p : sorted) {
    // Keys and what stands in ${...} are the document's: neither commands to the terminal nor a
    // megabyte of them.
    constexpr std::size_t longest_key = 200, longest_sentence = 2000;
    Problem problem{.file = p->where.file,
                    .line = p->where.line,
                    .column = p->where.column,
                    .key = printable(p->key, longest_key),
                    .message = printable(p->sentence, longest_sentence)};
    if (!told.insert(problem.text()).second) continue;
    if (out.size() < most_lines) out.push_back(std::move(problem));
  }
  if (told.size() > out.size())
    out.push_back(
        {.message = "and " + std::to_string(told.size() - out.size()) + " more problems"});
  return out;
}

std::vector<std::string> Problems::lines() const {
  std::vector<std::string> out;
  for (const Problem& problem : listed()) out.push_back(problem.text());
  return out;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 60;
  return "'" + printable(text, longest) + "'";
}

}  // namespace trainx::yaml
