// The scripts that make shells complete trainx, a file each.
#pragma once
#include "completion_words.hpp"

namespace trainx::app {

std::string bash_completion(const std::vector<CompletedCommand>& commands,
                            const std::vector<CompletedKey>& keys);
std::string zsh_completion(const std::vector<CompletedCommand>& commands,
                           const std::vector<CompletedKey>& keys);
std::string fish_completion(const std::vector<CompletedCommand>& commands,
                            const std::vector<CompletedKey>& keys);

/// In single quotes; `\` too is doubled where a shell (fish) reads it inside them.
std::string in_quotes(const std::string& text, bool fish = false);
std::string joined_by_blanks(const std::vector<std::string>& words);
/// What the scripts go by: "recipe setting run file folder" and "=word" for each literal one.
std::string to_tokens(const Takes& takes);

}  // namespace trainx::app
