#pragma once
#include <string>

namespace trainx::adapter {

/// A regular expression of Python's module re in PCRE2's syntax. Throws UserError 78 for
/// constructs that only one of the two has; `place` begins the sentence.
std::string pcre2_syntax_of(const std::string& python, const std::string& place);

}  // namespace trainx::adapter
