#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::corpus {

struct NamedTemplate {
  std::string text, place;
};

/// The chat templates of a tokenizer by their names, and the variables that it gives them:
/// bos_token, eos_token and so on.
struct TemplateSource {
  std::map<std::string, NamedTemplate> templates;  // empty: there are none
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  /// The template that a user named instead of the tokenizer's own; empty: nobody did.
  std::string named;

  /// Of all that texts depend on; empty where there is no template.
  std::string hash() const;
};

/// Of the folder of a tokenizer's file: chat_template.jinja and additional_chat_templates/, else
/// chat_template in tokenizer_config.json. Conversations with tools take the one called tool_use,
/// if there is one. `named`: a file, or one of the folder's templates, that is taken instead;
/// empty: none. Throws UserError: 66 it is missing, 65 malformed.
TemplateSource find_template(const std::string& tokenizer_file, const std::string& named);

}  // namespace trainx::corpus
