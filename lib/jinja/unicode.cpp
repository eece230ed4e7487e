#include "jinja/unicode.hpp"
#include "jinja/error.hpp"
#include <utf8proc.h>
#include <array>

namespace trainx::jinja {
namespace {

utf8proc_category_t category_of(char32_t point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(point));
}

bool is_cased(char32_t point) { return is_upper(point) || is_lower(point) || is_title(point); }

/// Letters whose upper case is several ones (Unicode's SpecialCasing), but for sharp s.
bool grows_in_upper_case(char32_t point) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 8> ranges{{{0x149, 0x149},
                                                                        {0x1f0, 0x1f0},
                                                                        {0x390, 0x390},
                                                                        {0x3b0, 0x3b0},
                                                                        {0x587, 0x587},
                                                                        {0x1e96, 0x1e9a},
                                                                        {0x1f50, 0x1fff},
                                                                        {0xfb00, 0xfb17}}};
  for (const auto& [first, last] : ranges)
    if (point >= first && point <= last) return true;
  return false;
}

void append_upper(char32_t point, bool title, std::string& out) {
  if (point == 0xdf) {
    out += title ? "Ss" : "SS";
    return;
  }
  if (grows_in_upper_case(point))
    unsupported("the upper case of " + std::string("U+1F50 and like"));
  const auto one = static_cast<utf8proc_int32_t>(point);
  append_code_point(static_cast<char32_t>(title ? utf8proc_totitle(one) : utf8proc_toupper(one)),
                    out);
}

/// A sigma that ends a word has a form of its own.
bool is_final_sigma(std::string_view text, std::size_t at) {
  const auto is_ignorable = [](char32_t p) {
    const auto category = category_of(p);
    return p == '\'' || p == '.' || p == ':' || p == 0xb7 || p == 0x2019 || p == 0xad ||
           category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK;
  };
  bool before = false;
  for (std::size_t end = at; end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    const char32_t point = code_point_at(text, begin).first;
    if (!is_ignorable(point)) {
      before = is_cased(point);
      break;
    }
    end = begin;
  }
  if (!before) return false;
  for (std::size_t i = at + 2; i < text.size();) {
    const auto [point, size] = code_point_at(text, i);
    if (!is_ignorable(point)) return !is_cased(point);
    i += size;
  }
  return true;
}

void append_lower(std::string_view text, std::size_t at, char32_t point, std::string& out) {
  if (point == 0x130) {
    out += "i\xcc\x87";
    return;
  }
  if (point == 0x3a3 && is_final_sigma(text, at)) {
    out += "\xcf\x82";
    return;
  }
  append_code_point(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))),
                    out);
}

/// Calls `use(at, code point)` for each.
template <class Use>
void for_each_point(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = code_point_at(text, at);
    use(at, point);
    at += size;
  }
}

}  // namespace

std::pair<char32_t, std::size_t> code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) & 0x3fU : 0U;
  };
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0xc0) return {first, 1};
  if (first < 0xe0) return {(first & 0x1fU) << 6 | byte(at + 1), 2};
  if (first < 0xf0) return {(first & 0x0fU) << 12 | byte(at + 1) << 6 | byte(at + 2), 3};
  return {(first & 0x07U) << 18 | byte(at + 1) << 12 | byte(at + 2) << 6 | byte(at + 3), 4};
}

void append_code_point(char32_t point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

std::size_t byte_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && index-- == 0) return at;
  return at;
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = code_point_at(text, at).second;
    out.emplace_back(text.substr(at, size));
    at += size;
  }
  return out;
}

bool is_space(char32_t p) {
  return (p >= 9 && p <= 13) || (p >= 0x1c && p <= 0x20) || p == 0x85 || p == 0xa0 || p == 0x1680 ||
         (p >= 0x2000 && p <= 0x200a) || p == 0x2028 || p == 0x2029 || p == 0x202f || p == 0x205f ||
         p == 0x3000;
}

std::size_t end_without_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (!is_space(code_point_at(text, begin).first)) break;
    end = begin;
  }
  return end;
}

std::size_t begin_without_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto [point, size] = code_point_at(text, at);
    if (!is_space(point)) break;
    at += size;
  }
  return at;
}

std::string_view strip(std::string_view text, bool left, bool right, const std::string* given) {
  if (!given) {
    if (right) text = text.substr(0, end_without_space(text));
    return left ? text.substr(begin_without_space(text)) : text;
  }
  const auto is_one = [&](std::string_view character) {
    return given->find(character) != std::string::npos;
  };
  while (left && !text.empty()) {
    const std::size_t size = code_point_at(text, 0).second;
    if (!is_one(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (right && !text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (!is_one(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

bool is_alphabetic(char32_t point) {
  const auto category = category_of(point);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t point) { return category_of(point) == UTF8PROC_CATEGORY_ND; }
bool is_other_number(char32_t point) {
  const auto category = category_of(point);
  return category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}
bool is_upper(char32_t point) { return category_of(point) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t point) { return category_of(point) == UTF8PROC_CATEGORY_LL; }
bool is_title(char32_t point) { return category_of(point) == UTF8PROC_CATEGORY_LT; }
bool is_printable(char32_t point) {
  if (point == ' ') return true;
  const auto category = category_of(point);
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

std::string to_upper(std::string_view text) {
  std::string out;
  for_each_point(text, [&](std::size_t, char32_t point) { append_upper(point, false, out); });
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out;
  for_each_point(text, [&](std::size_t at, char32_t point) { append_lower(text, at, point, out); });
  return out;
}

std::string to_capitalized(std::string_view text) {
  std::string out;
  for_each_point(text, [&](std::size_t at, char32_t point) {
    at == 0 ? append_upper(point, true, out) : append_lower(text, at, point, out);
  });
  return out;
}

std::string to_title(std::string_view text) {
  std::string out;
  bool inside = false;
  for_each_point(text, [&](std::size_t at, char32_t point) {
    inside ? append_lower(text, at, point, out) : append_upper(point, true, out);
    inside = is_cased(point);
  });
  return out;
}

}  // namespace trainx::jinja
