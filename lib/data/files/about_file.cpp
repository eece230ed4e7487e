#include "data/files/about_file.hpp"
#include "core/files.hpp"
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace trainx::data {
namespace {

namespace fs = std::filesystem;

std::optional<std::int32_t> id_in(const nlohmann::json& value) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return value.get<std::int32_t>();
}

/// Files that were written before paths were relative to them have some that are relative to the
/// working directory of then.
std::string resolved(const std::string& named, const std::string& file) {
  if (named.empty() || fs::path(named).is_absolute()) return named;
  const fs::path beside = (fs::path(folder_of(file)) / named).lexically_normal();
  std::error_code error;
  return fs::exists(beside, error) || !fs::exists(named, error) ? beside.string() : named;
}

std::string relative_to(const std::string& file, const std::string& path) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  std::error_code error;
  const fs::path relative = fs::relative(path, folder_of(file), error);
  return error || relative.empty() ? path : relative.string();
}

}  // namespace

AboutFile read_about(const std::string& path) {
  AboutFile about;
  const std::string file = path + ".json";
  if (!fs::is_regular_file(file)) return about;
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  if (!json.is_object()) return about;
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found == json.end() ? std::nullopt : id_in(*found);
  };
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  about.end_of_text = number("end_of_text");
  about.mask_token = number("mask_token");
  about.vocab_size = number("vocab_size").value_or(0);
  about.tokenizer = resolved(text("tokenizer"), path);
  about.tokenizer_hash = text("tokenizer_hash");
  about.chat_template = text("chat_template_text");
  if (const auto list = json.find("special_tokens"); list != json.end() && list->is_array())
    for (const auto& id : *list)
      if (const auto n = id_in(id)) about.special_tokens.push_back(*n);
  if (const auto names = json.find("label_names"); names != json.end() && names->is_array())
    for (const auto& name : *names)
      if (name.is_string()) about.label_names.push_back(name.get<std::string>());
  return about;
}

void add_tokenizer(const AboutFile& about, const std::string& path, nlohmann::ordered_json& json) {
  if (about.vocab_size > 0) json["vocab_size"] = about.vocab_size;
  if (about.tokenizer.empty()) return;
  json["tokenizer"] = relative_to(path, about.tokenizer);
  if (!about.tokenizer_hash.empty()) json["tokenizer_hash"] = about.tokenizer_hash;
  if (about.mask_token) json["mask_token"] = *about.mask_token;
  if (!about.special_tokens.empty()) json["special_tokens"] = about.special_tokens;
}

void write_about(const std::string& path, const nlohmann::ordered_json& about) {
  write_file_atomic(
      path + ".json",
      about.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace trainx::data
