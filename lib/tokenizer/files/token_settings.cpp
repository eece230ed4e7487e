#include "tokenizer/files/token_settings.hpp"
#include "core/error.hpp"
#include "tokenizer/files/read_json.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

namespace trainx::tokenizer {

using nlohmann::ordered_json;

const std::vector<std::string> special_token_names{
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

namespace {

bool is_special_name(const std::string& key) {
  return std::ranges::find(special_token_names, key) != special_token_names.end();
}

template <class Json>
std::optional<TokenSpec> read_spec(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  const auto content = value.find("content");
  if (content == value.end() || !content->is_string()) return std::nullopt;
  TokenSpec token{content->template get<std::string>()};
  const auto flag = [&](const char* key) -> std::optional<bool> {
    const auto found = value.find(key);
    if (found == value.end() || !found->is_boolean()) return std::nullopt;
    return found->template get<bool>();
  };
  token.single_word = flag("single_word").value_or(false);
  token.lstrip = flag("lstrip").value_or(false);
  token.rstrip = flag("rstrip").value_or(false);
  token.special = flag("special").value_or(false);
  token.normalized = flag("normalized");
  return token;
}

/// A text or an object with its content; nothing for other values.
std::optional<NamedToken> read_token(const ordered_json& value) {
  if (value.is_string()) return NamedToken{{value.get<std::string>()}, true};
  if (auto spec = read_spec(value)) return NamedToken{std::move(*spec), false};
  return std::nullopt;
}

class Reader {
 public:
  Reader(const std::string& folder, const nlohmann::json* file) : folder_(folder), file_(file) {
    s_.path = folder + "/tokenizer_config.json";
    s_.values = read_json_object(s_.path);
  }

  TokenSettings read() {
    s_.values.erase("tokenizer_class");
    if (file_) {
      s_.values.erase("add_bos_token");
      s_.values.erase("add_eos_token");
    }
    rename_additional();
    collect_own_names();
    if (s_.values.contains("added_tokens_decoder")) {
      read_added_decoder();
    } else {
      read_special_map();
      read_added_file();
      if (file_) read_added_of_file();
    }
    take_own_names(false);
    take_named();
    s_.extra = take_list("extra_special_tokens");
    s_.additional = take_list("additional_special_tokens");
    return std::move(s_);
  }

 private:
  static bool is_empty(const ordered_json& value) {
    return value.is_null() || ((value.is_array() || value.is_object()) && value.empty()) ||
           value == "";
  }

  void rename_additional() {
    const auto additional = s_.values.find("additional_special_tokens");
    if (additional == s_.values.end()) return;
    const auto extra = s_.values.find("extra_special_tokens");
    if (extra != s_.values.end() && !is_empty(*extra)) return;
    ordered_json list = *additional;
    s_.values.erase("additional_special_tokens");
    s_.values["extra_special_tokens"] = std::move(list);
  }

  void add_own_names(const ordered_json& names, const char* key) {
    for (const auto& [name, value] : names.items()) {
      auto token = read_token(value);
      if (!token) s_.refuse(std::string(key) + "." + name, "is no token");
      s_.own_names.emplace_back(name, std::move(*token));
    }
  }

  /// Names of a model's own: of the settings, texts alone or whatever is left.
  void take_own_names(bool texts) {
    std::vector<std::pair<std::string, NamedToken>> found;
    for (const auto& [key, value] : s_.values.items()) {
      if (is_special_name(key) || !key.ends_with("_token")) continue;
      auto token = read_token(value);
      if (token && (token->is_text || !texts)) found.emplace_back(key, std::move(*token));
    }
    for (const auto& [key, token] : found) s_.values.erase(key);
    s_.own_names.insert(s_.own_names.begin(), found.begin(), found.end());
  }

  void collect_own_names() {
    take_own_names(true);
    const char* key = "extra_special_tokens";
    if (const auto extra = s_.values.find(key); extra != s_.values.end() && extra->is_object()) {
      add_own_names(*extra, key);
      s_.values.erase(key);
    }
    const char* saved = "model_specific_special_tokens";
    if (const auto names = s_.values.find(saved); names != s_.values.end()) {
      if (s_.own_names.empty() && names->is_object()) add_own_names(*names, saved);
      s_.values.erase(saved);
    }
  }

  void read_added_decoder() {
    const char* key = "added_tokens_decoder";
    const ordered_json decoder = s_.values[key];
    s_.values.erase(key);
    if (!decoder.is_object()) s_.refuse(key, "is no object of ids and tokens");
    for (const auto& [id, value] : decoder.items()) {
      std::int64_t number = -1;
      const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
      const auto spec = read_spec(value);
      if (error != std::errc() || end != id.data() + id.size() || number < 0 || !spec)
        s_.refuse(key, "gives " + yaml::excerpt(id) + " no token");
      s_.added[number] = *spec;
    }
  }

  void read_special_map() {
    const ordered_json map = read_json_object(folder_ + "/special_tokens_map.json");
    for (const auto& [key, value] : map.items()) {
      if (key == "extra_special_tokens" && value.is_array()) {
        ordered_json list = s_.values.value(key, ordered_json::array());
        if (!list.is_array()) list = ordered_json::array();
        for (ordered_json token : value) {
          if (token.is_object()) token["special"] = true;
          if (std::find(list.begin(), list.end(), token) == list.end()) list.push_back(token);
        }
        s_.values[key] = std::move(list);
        continue;
      }
      ordered_json token = value;
      if (token.is_object() && key != "extra_special_tokens") token["special"] = true;
      s_.values[key] = std::move(token);
      from_map_.insert(key);
    }
    // a dictionary that the map brought
    if (const auto extra = s_.values.find("extra_special_tokens");
        extra != s_.values.end() && extra->is_object()) {
      add_own_names(*extra, "extra_special_tokens");
      s_.values.erase("extra_special_tokens");
    }
  }

  /// As texts: an object of tokenizer_config.json does not count as its content here.
  std::set<std::string> special_texts() const {
    std::set<std::string> out;
    const auto add = [&](const ordered_json& value, bool object_counts) {
      const auto token = read_token(value);
      if (token && (token->is_text || object_counts)) out.insert(token->token.content);
    };
    for (const std::string& name : special_token_names)
      if (const auto found = s_.values.find(name); found != s_.values.end())
        add(*found, from_map_.contains(name));
    if (const auto extra = s_.values.find("extra_special_tokens");
        extra != s_.values.end() && extra->is_array())
      for (const auto& token : *extra) add(token, false);
    return out;
  }

  void read_added_file() {
    const std::string path = folder_ + "/added_tokens.json";
    const std::set<std::string> special = special_texts();
    const ordered_json ids = read_json_object(path);
    for (const auto& [content, id] : ids.items()) {
      if (!id.is_number_unsigned())
        throw UserError(ExitCode::bad_data,
                        path + ": the id of " + yaml::excerpt(content) + " is no whole number");
      TokenSpec token{content};
      token.special = special.contains(content);
      token.normalized = !token.special;  // which stays if the class or a padding names the token
      s_.added[id.get<std::int64_t>()] = token;
    }
  }

  void read_added_of_file() {
    const auto list = file_->find("added_tokens");
    if (list == file_->end() || !list->is_array()) return;
    for (const auto& item : *list) {
      const auto spec = read_spec(item);
      const auto id = item.is_object() ? item.find("id") : item.end();
      if (spec && item.is_object() && id != item.end() && id->is_number_unsigned())
        s_.added[id->get<std::int64_t>()] = *spec;
    }
  }

  void take_named() {
    std::map<std::string, TokenSpec> by_content;
    for (const auto& [id, token] : s_.added) by_content[token.content] = token;
    for (const std::string& name : special_token_names) {
      const auto found = s_.values.find(name);
      if (found == s_.values.end()) continue;
      auto token = read_token(*found);
      if (!token && !found->is_null()) s_.refuse(name, "is no token");
      if (token)
        if (const auto added = by_content.find(token->token.content); added != by_content.end())
          token = NamedToken{added->second, false};
      s_.named[name] = std::move(token);
      s_.values.erase(name);
    }
  }

  std::optional<std::vector<NamedToken>> take_list(const std::string& key) {
    const auto found = s_.values.find(key);
    if (found == s_.values.end()) return std::nullopt;
    if (!found->is_null() && !found->is_array()) s_.refuse(key, "is no list of tokens");
    std::vector<NamedToken> out;
    for (const auto& item : *found) {
      auto token = read_token(item);
      if (!token) s_.refuse(key, "has " + yaml::excerpt(item.dump()) + ", which is no token");
      out.push_back(std::move(*token));
    }
    s_.values.erase(key);
    return out;
  }

  const std::string& folder_;
  const nlohmann::json* file_;
  TokenSettings s_;
  std::set<std::string> from_map_;
};

}  // namespace

std::optional<bool> TokenSettings::optional_flag(const std::string& key) const {
  const auto found = values.find(key);
  if (found == values.end() || found->is_null()) return std::nullopt;
  if (!found->is_boolean()) refuse(key, "is neither true nor false");
  return found->get<bool>();
}

bool TokenSettings::flag(const std::string& key, bool otherwise) const {
  return optional_flag(key).value_or(otherwise);
}

std::string TokenSettings::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values.find(key);
  if (found == values.end() || found->is_null()) return otherwise;
  if (!found->is_string()) refuse(key, "is no text");
  return found->get<std::string>();
}

std::int64_t TokenSettings::number(const std::string& key, std::int64_t otherwise) const {
  constexpr std::int64_t most = 1 << 20;
  const auto found = values.find(key);
  if (found == values.end() || found->is_null()) return otherwise;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > std::uint64_t{most})
    refuse(key, "is no whole number up to " + std::to_string(most));
  return found->get<std::int64_t>();
}

void TokenSettings::set_default(const std::string& name, std::optional<NamedToken> token) {
  named.try_emplace(name, std::move(token));
}

const NamedToken* TokenSettings::find(const std::string& name) const {
  const auto found = named.find(name);
  return found == named.end() || !found->second ? nullptr : &*found->second;
}

void TokenSettings::refuse(const std::string& key, const std::string& what) const {
  throw UserError(ExitCode::bad_data, path + ": " + key + " " + what);
}

TokenSettings read_token_settings(const std::string& folder, const nlohmann::json* file) {
  return Reader(folder, file).read();
}

}  // namespace trainx::tokenizer
