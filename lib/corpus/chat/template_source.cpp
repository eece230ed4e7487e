#include "corpus/chat/template_source.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
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

using Templates = std::map<std::string, NamedTemplate>;

/// A text, or [{"name": "default", "template": "..."}, ...].
Templates templates_in(const json& settings, const std::string& path) {
  const auto found = settings.find("chat_template");
  if (found == settings.end() || found->is_null()) return {};
  const std::string place = path + ": chat_template";
  if (found->is_string()) return {{"default", {*found, place}}};
  Templates out;
  bool well_formed = found->is_array();
  for (std::size_t i = 0; well_formed && i < found->size(); ++i) {
    const json& one = (*found)[i];
    well_formed = one.is_object() && one.value("name", json()).is_string() &&
                  one.value("template", json()).is_string();
    if (well_formed) {
      const std::string name = one["name"];
      out[name] = {one["template"], place + " " + name};
    }
  }
  if (!well_formed)
    throw UserError(ExitCode::bad_data, place +
                                            " is neither a text nor a list of templates with "
                                            "names: name a file with --chat-template");
  return out;
}

/// Templates in files of their own, which are taken instead of those in tokenizer_config.json.
Templates templates_beside(const std::string& folder) {
  Templates out;
  const std::string single = folder + "/chat_template.jinja";
  if (std::filesystem::is_regular_file(single))
    out["default"] = {tokenizer::read_tokenizer_file(single), single};
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder + "/additional_chat_templates", none)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".jinja" && entry.is_regular_file())
      out[entry.path().stem().string()] = {tokenizer::read_tokenizer_file(path), path};
  }
  return out;
}

}  // namespace

std::string TemplateSource::hash() const {
  if (templates.empty()) return "";
  std::string all;
  for (const auto& [name, one] : templates) all += (name == "default" ? "" : name) + one.text;
  return hash_hex(all + variables.dump());
}

TemplateSource find_template(const std::string& tokenizer_file, const std::string& named) {
  const std::string folder = folder_of(tokenizer_file), config = folder + "/tokenizer_config.json";
  const json settings = read_object(config);
  TemplateSource out;
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (const auto found = settings.find(name); found != settings.end())
      if (const json text = token_text(*found); text.is_string()) out.variables[name] = text;
  if (!named.empty() && std::filesystem::is_regular_file(named)) {
    out.templates["default"] = {tokenizer::read_tokenizer_file(named), named};
    out.named = out.templates["default"].text;
    return out;
  }
  out.templates = templates_beside(folder);
  if (out.templates.empty()) out.templates = templates_in(settings, config);
  if (named.empty()) return out;
  const auto found = out.templates.find(named);
  if (found == out.templates.end())
    throw UserError(ExitCode::input_missing, "there is no file " + named +
                                                 " with a chat template, and the tokenizer has "
                                                 "none of that name");
  out.templates = {{"default", found->second}};
  out.named = out.templates["default"].text;
  return out;
}

}  // namespace trainx::corpus
