#pragma once
#include <map>
#include <string>

namespace trainx::checkpoint {

/// The files of a Hugging Face folder that training does not read and its results need:
/// tokenizer.json, chat_template.jinja, generation_config.json, LICENSE, ... Those that are there,
/// by name, with their contents. Throws UserError 66 or 74 for one that cannot be read.
std::map<std::string, std::string> read_carried_files(const std::string& folder);

/// A tokenizer's file and those beside it that belong to it; a file with a name of its own goes
/// under the one by which a folder with a tokenizer is known. Throws likewise.
std::map<std::string, std::string> read_tokenizer_files(const std::string& file);

}  // namespace trainx::checkpoint
