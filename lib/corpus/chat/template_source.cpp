#include "corpus/chat/template_source.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "tokenizer/files/read_json.hpp"
#include <filesystem>

namespace trainx::corpus {
namespace {

using nlohmann::json;

json read_object(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return json::object();
  json out = tokenizer::parse_tokenizer_json(tokenizer::read_tokenizer_file(path), path);
  if (!out.is_object()) throw UserError(ExitCode::bad_data, path + " is no JSON object");
  return out;
}

/// "</s>", or {"content": "</s>", ...}; null where it is neither.
json token_text(const json& value) {
  if (value.is_string()) return value;
  if (value.is_object() && value.contains("content") && value["content"].is_string())
    return value["content"];
  return nullptr;
}

/// A text, or [{"name": "default", "template": "..."}, ...].
std::string template_in(const json& settings, const std::string& path) {
  const auto found = settings.find("chat_template");
  if (found == settings.end() || found->is_null()) return "";
  if (found->is_string()) return *found;
  if (found->is_array())
    for (const auto& one : *found)
      if (one.is_object() && one.value("name", json()) == "default" &&
          one.value("template", json()).is_string())
        return one["template"];
  throw UserError(ExitCode::bad_data,
                  path +
                      ": chat_template is neither a text nor a list with one called default: "
                      "name a file with --chat-template");
}

}  // namespace

TemplateSource find_template(const std::string& tokenizer_file, const std::string& named) {
  const std::string folder = folder_of(tokenizer_file), config = folder + "/tokenizer_config.json";
  const json settings = read_object(config);
  TemplateSource out;
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (const auto found = settings.find(name); found != settings.end())
      if (const json text = token_text(*found); text.is_string()) out.variables[name] = text;
  const std::string file = named.empty() ? folder + "/chat_template.jinja" : named;
  if (!named.empty() && !std::filesystem::is_regular_file(named))
    throw UserError(ExitCode::input_missing, "there is no file " + named + " with a chat template");
  if (std::filesystem::is_regular_file(file)) {
    out.text = tokenizer::read_tokenizer_file(file);
    out.place = file;
  } else {
    out.text = template_in(settings, config);
    out.place = config + ": chat_template";
  }
  return out;
}

}  // namespace trainx::corpus
