#include "yaml/text.hpp"
#include "yaml/read.hpp"
#include <algorithm>

namespace trainx::yaml {
namespace {

/// Bytes of the well-formed UTF-8 character at `i` (RFC 3629: no overlong forms, no surrogates, up
/// to U+10FFFF), 0 where there is none.
std::size_t character_length(const std::string& text, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u;
  };
  const auto continues = [&](std::size_t k) { return (byte(k) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Whether what stands at `i` begins a value or key: only indentation or an indicator comes before
/// it.
bool starts_value(const std::string& text, std::size_t i) {
  std::size_t k = i;
  while (k > 0 && (text[k - 1] == ' ' || text[k - 1] == '\t')) --k;
  if (k == 0 || text[k - 1] == '\n') return true;
  const char c = text[k - 1];
  return c == '[' || c == '{' || c == ',' || ((c == ':' || c == '-' || c == '?') && k < i);
}

/// The byte of the quote that closes the one at `i`, on this line or a later one; text.size()
/// without one.
std::size_t closing_quote(const std::string& text, std::size_t i) {
  const char quote = text[i];
  for (++i; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\')
      ++i;
    else if (text[i] == quote && quote == '\'' && i + 1 < text.size() && text[i + 1] == quote)
      ++i;
    else if (text[i] == quote)
      break;
  }
  return std::min(i, text.size());
}

}  // namespace

Location locate(const std::string& text, std::size_t byte, const std::string& file) {
  Location where{file, 1, 1};
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    if (text[i] == '\n') {
      ++where.line;
      where.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++where.column;
    }
  }
  return where;
}

bool check_bytes(const std::string& text, const std::string& file, Problems& problems) {
  if (text.size() > largest_document) {
    problems.add({file, 1, 1}, "",
                 "is larger than 1 MiB, which no recipe is: is this the right file?");
    return false;
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    problems.add({file, 1, 1}, "",
                 "starts with a byte order mark: save the file as UTF-8 without it");
    return false;
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    problems.add({file, 1, 1}, "", "is UTF-16: save the file as UTF-8");
    return false;
  }
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      problems.add(locate(text, i, file), "",
                   "is not UTF-8 here (byte " + std::to_string(i) + "): save the file as UTF-8");
      return false;
    }
    if (c == 0) {
      problems.add(locate(text, i, file), "",
                   "has a NUL byte here (byte " + std::to_string(i) + "): is this the right file?");
      return false;
    }
    if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F ||
        (c == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) {
      problems.add(locate(text, i, file), "",
                   "has a control character here (byte " + std::to_string(i) + "): remove it");
      return false;
    }
    i += length;
  }
  return true;
}

std::string as_utf8(const std::string& scalar) {
  std::string text;
  for (std::size_t i = 0; i < scalar.size();) {
    const std::size_t length = character_length(scalar, i);
    if (length == 0) text += '\xC2';
    text.append(scalar, i, std::max<std::size_t>(length, 1));
    i += std::max<std::size_t>(length, 1);
  }
  return text;
}

bool replace_tabs(std::string& text, const std::string& file, Problems& problems) {
  bool found = false;
  int number = 1;
  for (std::size_t line = 0; line < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::size_t content = std::min(text.find_first_not_of(" \t\r", line), end);
    if (const std::size_t tab = text.substr(line, content - line).find('\t');
        content < end && tab != std::string::npos) {
      problems.add({file, number, static_cast<int>(tab) + 1}, "",
                   "is indented with a tab: YAML is indented with spaces");
      for (std::size_t i = line; i < content; ++i) text[i] = ' ';
      found = true;
    }
    line = end + 1;
  }
  return found;
}

std::optional<OpenQuote> open_quote_at(const std::string& text, std::size_t opened, bool in_flow) {
  const std::size_t end = closing_quote(text, opened);
  std::size_t line_end = std::min(text.find('\n', opened), text.size());
  if (end < line_end) return std::nullopt;
  const char after = end + 1 < text.size() ? text[end + 1] : '\n';
  const bool ends_value =
      end < text.size() &&
      (is_blank(after) || std::string_view(",:]}").find(after) != std::string_view::npos);
  // npos + 1 is 0
  const std::size_t line_start = opened == 0 ? 0 : text.rfind('\n', opened - 1) + 1;
  const std::size_t indentation = text.find_first_not_of(' ', line_start) - line_start;
  bool deeper = true;
  for (std::size_t line = line_end + 1; line < end && deeper;
       line = std::min(text.find('\n', line), text.size()) + 1) {
    const std::size_t content = text.find_first_not_of(' ', line);
    deeper = content == std::string::npos || text[content] == '\n' || text[content] == '\r' ||
             content - line > indentation;
  }
  if (ends_value && deeper) return std::nullopt;
  if (line_end > opened && text[line_end - 1] == '\r') --line_end;
  return OpenQuote{opened, line_end, text[opened], in_flow};
}

std::optional<OpenQuote> find_open_quote(const std::string& text) {
  int flow = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#' && (i == 0 || is_blank(text[i - 1]))) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if ((c == '[' || c == '{') && (flow > 0 || starts_value(text, i))) {
      ++flow;
    } else if ((c == ']' || c == '}') && flow > 0) {
      --flow;
    } else if ((c == '"' || c == '\'') && starts_value(text, i)) {
      if (const auto open = open_quote_at(text, i, flow > 0)) return open;
      i = closing_quote(text, i);
    }
  }
  return std::nullopt;
}

}  // namespace trainx::yaml
