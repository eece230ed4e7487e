// Near misses: what a mistyped key, value, command or flag was probably meant to be.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx {

/// The candidate nearest to `word` by edit distance (insert, delete, replace, swap neighbours;
/// letter case and '-' or '_' do not count), or the only one that `word` begins or that begins
/// `word`; nothing where none is near.
std::optional<std::string> suggest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// " (did you mean 'x'?)", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace trainx
