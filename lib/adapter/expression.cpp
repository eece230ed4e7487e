#include "adapter/expression.hpp"
#include "adapter/python_syntax.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace trainx::adapter {
namespace {

/// Backtracking steps for one name: expressions of people take a few hundred.
constexpr std::uint32_t most_steps = 1'000'000;
constexpr std::size_t longest_expression = 64 << 10;

std::string pcre2_says(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

void Expression::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }
void Expression::Free::operator()(pcre2_real_match_data_8* data) const {
  pcre2_match_data_free(data);
}
void Expression::Free::operator()(pcre2_real_match_context_8* context) const {
  pcre2_match_context_free(context);
}

Expression::Expression(const std::string& text, Extent extent, const std::string& place)
    : place_(place) {
  if (text.size() > longest_expression)
    throw UserError(ExitCode::invalid_recipe, place + ": a regular expression of more than " +
                                                  std::to_string(longest_expression) + " bytes");
  const std::string pattern = pcre2_syntax_of(text, place);
  std::uint32_t options = PCRE2_ANCHORED | PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  if (extent == Extent::whole) options |= PCRE2_ENDANCHORED;
  int error = 0;
  std::size_t offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                            &error, &offset, nullptr));
  if (!code_)
    throw UserError(ExitCode::invalid_recipe,
                    place + ": '" + text + "' is not a regular expression: " + pcre2_says(error));
  data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  context_.reset(pcre2_match_context_create(nullptr));
  if (!data_ || !context_) throw std::bad_alloc();
  pcre2_set_match_limit(context_.get(), most_steps);
}

int Expression::match(std::string_view name) const {
  const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(),
                                0, 0, data_.get(), context_.get());
  if (found < 0 && found != PCRE2_ERROR_NOMATCH)
    throw UserError(ExitCode::invalid_recipe, place_ +
                                                  ": the regular expression cannot be matched "
                                                  "against '" +
                                                  std::string(name) + "': " + pcre2_says(found));
  return found;
}

bool Expression::matches(std::string_view name) const { return match(name) >= 0; }

std::optional<std::string> Expression::group_of_match(std::string_view name,
                                                      const char* group) const {
  if (match(name) < 0) return std::nullopt;
  PCRE2_UCHAR* begin = nullptr;
  PCRE2_SIZE size = 0;
  if (pcre2_substring_get_byname(data_.get(), reinterpret_cast<PCRE2_SPTR>(group), &begin, &size))
    return std::nullopt;
  std::string found(reinterpret_cast<const char*>(begin), size);
  pcre2_substring_free(begin);
  return found;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view special = "()[]{}?*+-|^$\\.&~# \t\n\r\v\f";
  std::string written;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) written += '\\';
    written += c;
  }
  return written;
}

}  // namespace trainx::adapter
