// The text of a document before YAML sees it: what yaml-cpp would pass over or report far from its
// cause.
#pragma once
#include "yaml/problems.hpp"
#include <optional>
#include <string>

namespace trainx::yaml {

/// Line and column (in characters, from 1) of a byte.
Location locate(const std::string& text, std::size_t byte, const std::string& file);

/// Size, byte order mark, NUL and other control characters, UTF-8. False where the text cannot be
/// read on.
bool check_bytes(const std::string& text, const std::string& file, Problems& problems);

/// A scalar as yaml-cpp gives it, in UTF-8: of the escapes \_ (U+00A0) and \N (U+0085) it makes one
/// byte each.
std::string as_utf8(const std::string& scalar);

/// Reports each line indented with a tab and gives it blanks instead. True where there was one.
bool replace_tabs(std::string& text, const std::string& file, Problems& problems);

/// A quote that is opened and not closed on its line, and where the line ends.
struct OpenQuote {
  std::size_t opened = 0, line_end = 0;
  char quote = '"';
  bool in_flow = false;  // inside [ or {: closing the quote would swallow their ends
};
/// Whether the quote at byte `opened` is such a one. It may close on a later line where the lines
/// between are indented deeper.
std::optional<OpenQuote> open_quote_at(const std::string& text, std::size_t opened, bool in_flow);
/// The first such quote of a text that does not parse.
std::optional<OpenQuote> find_open_quote(const std::string& text);

}  // namespace trainx::yaml
