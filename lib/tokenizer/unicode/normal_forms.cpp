#include "tokenizer/unicode/normal_forms.hpp"
#include "core/error.hpp"
#include "tokenizer/unicode/code_point_set.hpp"
#include <utf8proc.h>
#include <algorithm>
#include <unordered_map>
#include <vector>

namespace trainx::tokenizer {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

void append_decomposed(std::uint32_t c, bool compat, CodePoints& out) {
  utf8proc_int32_t parts[32];  // the longest decomposition has 18
  int last_boundary = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compat ? UTF8PROC_COMPAT : 0));
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 32, options, &last_boundary);
  if (count < 1 || count > 32)
    throw InternalError("normalisation: utf8proc cannot decompose code point " + std::to_string(c));
  out.insert(out.end(), parts, parts + count);
}

/// Brings marks into canonical order, and composes; `part` holds no inert code point.
void append_in_order(CodePoints& part, bool compose, std::string& out) {
  const auto mark_class = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  for (auto at = part.begin(); at != part.end();) {
    const auto end =
        std::find_if(at, part.end(), [&](utf8proc_int32_t c) { return mark_class(c) == 0; });
    std::stable_sort(at, end, [&](auto a, auto b) { return mark_class(a) < mark_class(b); });
    at = end == part.end() ? end : end + 1;
  }
  auto count = static_cast<utf8proc_ssize_t>(part.size());
  if (compose && count > 1) {
    part.push_back(0);
    count = utf8proc_normalize_utf32(
        part.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (count < 0) throw InternalError("normalisation: utf8proc cannot compose");
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(static_cast<std::uint32_t>(part[static_cast<std::size_t>(i)]), out);
  part.clear();
}

const std::unordered_map<std::uint32_t, Lowered>& lower_map() {
  static const auto map = [] {
    std::unordered_map<std::uint32_t, Lowered> m;
    for (const Lowered& l : lowered()) m.emplace(l.from, l);
    return m;
  }();
  return map;
}

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);  // its own normal form in all four
  const bool compat = form == NormalForm::nfkc || form == NormalForm::nfkd,
             compose = form == NormalForm::nfc || form == NormalForm::nfkc;
  const CodePointSet& inert = set_of(CodePointClass::inert);
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  CodePoints part;
  for (std::size_t at = 0; at < text.size();) {
    // ASCII composes with marks behind it alone: all but the last of a run is done.
    const std::uint32_t c = next_code_point(text, at);
    if (c < 0x80) {
      append_in_order(part, compose, out);
      part.push_back(static_cast<utf8proc_int32_t>(c));
    } else if (inert.contains(c)) {
      append_in_order(part, compose, out);
      append_utf8(c, out);
    } else {
      append_decomposed(c, compat, part);
    }
  }
  append_in_order(part, compose, out);
  return out;
}

std::string lowercase(std::string_view text) {
  const auto& lower = lower_map();
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out.push_back(byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32)
                                               : static_cast<char>(byte));
      ++at;
      continue;
    }
    const std::size_t begin = at;
    const auto found = lower.find(next_code_point(text, at));
    if (found == lower.end()) {
      out.append(text.substr(begin, at - begin));
      continue;
    }
    append_utf8(found->second.to, out);
    if (found->second.second) append_utf8(found->second.second, out);
  }
  return out;
}

}  // namespace trainx::tokenizer
