#pragma once
#include <map>
#include <string>

namespace trainx::checkpoint {

/// The files of a Hugging Face folder that training does not read and its results need: tokenizer.json, vocab.json, generation_config.json, ...
/// Those that are there, by name, with their contents. Throws UserError 66 or 74 for one that cannot be read.
std::map<std::string, std::string> read_carried_files(const std::string& folder);

}  // namespace trainx::checkpoint
