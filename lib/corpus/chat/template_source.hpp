#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::corpus {

/// The text of a chat template, where it stands, and the variables that its tokenizer gives it:
/// bos_token, eos_token and so on.
struct TemplateSource {
  std::string text;  // empty: there is none
  std::string place;
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
};

/// Of the folder of a tokenizer's file: chat_template.jinja, else chat_template in
/// tokenizer_config.json (of several the one called default). `named` is a file that is taken
/// instead; empty: none. Throws UserError: 66 it is missing, 65 malformed.
TemplateSource find_template(const std::string& tokenizer_file, const std::string& named);

}  // namespace trainx::corpus
