#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace trainx::adapter {

/// A regular expression in Python's syntax (its module re), matched by PCRE2 against names of
/// modules. Both syntaxes mean the same here: what they read differently is translated or refused.
class Expression {
 public:
  enum class Extent { whole, start };  // re.fullmatch, re.match

  /// `place` begins the sentence of a refusal (UserError 78): what the expression is and where.
  Expression(const std::string& text, Extent extent, const std::string& place);

  /// Throws UserError 78 if the expression takes too long.
  bool matches(std::string_view name) const;
  /// What the named group matched; nothing if the expression does not match.
  std::optional<std::string> group_of_match(std::string_view name, const char* group) const;

 private:
  int match(std::string_view name) const;

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
  };
  std::string place_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
};

/// `text` with every character that has a meaning in an expression escaped (re.escape).
std::string escaped(std::string_view text);

}  // namespace trainx::adapter
