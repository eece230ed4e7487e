// Text as Python sees it: code points, their case, what is a blank.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::jinja {

/// The code point that begins at a byte of well-formed UTF-8, and its bytes.
std::pair<char32_t, std::size_t> code_point_at(std::string_view text, std::size_t at);
void append_code_point(char32_t point, std::string& out);
std::size_t count_code_points(std::string_view text);
/// Where code point `index` begins; the text's size for the one behind the last.
std::size_t byte_of(std::string_view text, std::size_t index);
std::vector<std::string> characters(std::string_view text);

/// str.isspace, and \s of a regular expression.
bool is_space(char32_t point);
std::size_t end_without_space(std::string_view text);    // of rstrip
std::size_t begin_without_space(std::string_view text);  // of lstrip
/// str.strip, of blanks or of given characters; `left`, `right`: at which ends.
std::string_view strip(std::string_view text, bool left, bool right,
                       const std::string* characters = nullptr);

bool is_alphabetic(char32_t point);
bool is_decimal(char32_t point);
bool is_other_number(char32_t point);  // as of fractions, superscripts and Roman numerals
bool is_upper(char32_t point);
bool is_lower(char32_t point);
bool is_title(char32_t point);
bool is_printable(char32_t point);

/// As Python's methods: also letters whose other case is several letters. Throws TemplateError
/// for the few of those that are not known here.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_capitalized(std::string_view text);
std::string to_title(std::string_view text);  // str.title

}  // namespace trainx::jinja
