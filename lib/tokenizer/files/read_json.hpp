#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::tokenizer {

/// A file of a tokenizer. Throws UserError: 66 missing, 65 larger than any of them is, not UTF-8 or
/// malformed (file:line:column).
std::string read_tokenizer_file(const std::string& path);
nlohmann::json parse_tokenizer_json(const std::string& text, const std::string& path);
/// An object whose keys stay in the file's order; empty if there is no such file.
nlohmann::ordered_json read_json_object(const std::string& path);

}  // namespace trainx::tokenizer
