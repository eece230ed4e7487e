#include "jinja/text_parts.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>

namespace trainx::jinja {
namespace {

std::vector<std::string> split_at_blanks(std::string_view text, std::int64_t most) {
  std::vector<std::string> out;
  text.remove_prefix(begin_without_space(text));
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(out.size()) == most) {
      out.emplace_back(text);  // the blanks behind it stay
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const auto [point, size] = code_point_at(text, end);
      if (is_space(point)) break;
      end += size;
    }
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(begin_without_space(text));
  }
  return out;
}

std::vector<std::string> split_at_blanks_from_end(std::string_view text, std::int64_t most) {
  std::vector<std::string> out;
  text = text.substr(0, end_without_space(text));
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(out.size()) == most) {
      out.emplace_back(text);  // the blanks before it stay
      break;
    }
    std::size_t begin = text.size();
    while (begin > 0) {
      std::size_t last = begin - 1;
      while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
      if (is_space(code_point_at(text, last).first)) break;
      begin = last;
    }
    out.emplace_back(text.substr(begin));
    text = text.substr(0, begin);
    text = text.substr(0, end_without_space(text));
  }
  std::ranges::reverse(out);
  return out;
}

/// Bytes of the line end at `at`: 0 if there is none.
std::size_t line_end_at(std::string_view text, std::size_t at) {
  const auto [point, size] = code_point_at(text, at);
  if (point == '\r') return at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
  const bool ends = (point >= 0x0a && point <= 0x0c) || (point >= 0x1c && point <= 0x1e) ||
                    point == 0x85 || point == 0x2028 || point == 0x2029;
  return ends ? size : 0;
}

}  // namespace

std::vector<std::string> split(std::string_view text, const std::string* separator,
                               std::int64_t most, bool right) {
  if (!separator) return right ? split_at_blanks_from_end(text, most) : split_at_blanks(text, most);
  std::vector<std::string> out;
  while (most < 0 || static_cast<std::int64_t>(out.size()) < most) {
    const std::size_t at = right ? text.rfind(*separator) : text.find(*separator);
    if (at == std::string_view::npos) break;
    out.emplace_back(right ? text.substr(at + separator->size()) : text.substr(0, at));
    text = right ? text.substr(0, at) : text.substr(at + separator->size());
  }
  out.emplace_back(text);
  if (right) std::ranges::reverse(out);
  return out;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = line_end_at(text, at);
    if (end == 0) {
      at += code_point_at(text, at).second;
      continue;
    }
    out.emplace_back(text.substr(begin, at - begin + (keep_ends ? end : 0)));
    begin = at += end;
  }
  if (begin < text.size()) out.emplace_back(text.substr(begin));
  return out;
}

std::string replace(Budget& budget, std::string_view text, std::string_view old,
                    std::string_view by, std::int64_t most) {
  budget.take(text.size());
  std::string out;
  std::size_t at = 0;
  for (std::int64_t done = 0; most < 0 || done < most; ++done) {
    const std::size_t found = text.find(old, at);
    if (found == std::string_view::npos) break;
    budget.take(by.size());
    // An empty text stands before each character, and behind the last.
    const std::size_t next = old.empty() && found < text.size()
                                 ? found + code_point_at(text, found).second
                                 : found + old.size();
    out += text.substr(at, found - at);
    out += by;
    if (old.empty()) out += text.substr(found, next - found);
    at = next;
    if (old.empty() && found == text.size()) return out;
  }
  return out += text.substr(at);
}

std::int64_t count(std::string_view text, std::string_view part) {
  if (part.empty()) return static_cast<std::int64_t>(count_code_points(text)) + 1;
  std::int64_t times = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++times;
  return times;
}

bool has_case(std::string_view text, bool upper) {
  bool some = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = code_point_at(text, at);
    if (is_title(point) || (upper ? is_lower(point) : is_upper(point))) return false;
    some |= upper ? is_upper(point) : is_lower(point);
    at += size;
  }
  return some;
}

}  // namespace trainx::jinja
