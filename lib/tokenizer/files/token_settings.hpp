#pragma once
#include "tokenizer/files/token_spec.hpp"
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainx::tokenizer {

/// What a folder's files beside its vocabulary say of the tokenizer: tokenizer_config.json,
/// special_tokens_map.json and added_tokens.json, put together as transformers does.
struct TokenSettings {
  std::string path;               // of tokenizer_config.json
  nlohmann::ordered_json values;  // settings that are no tokens
  /// bos_token, eos_token, ...: nothing where null stands.
  std::map<std::string, std::optional<NamedToken>> named;
  std::vector<std::pair<std::string, NamedToken>> own_names;  // image_token and their like
  std::optional<std::vector<NamedToken>> extra, additional;   // *_special_tokens
  std::map<std::int64_t, TokenSpec> added;                    // by the id that a file says

  bool flag(const std::string& key, bool otherwise) const;
  /// Null where the key is missing or null.
  std::optional<bool> optional_flag(const std::string& key) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  /// Sets a named token that no file mentions; nothing: there is none.
  void set_default(const std::string& name, std::optional<NamedToken> token);
  /// The token of that name; null where there is none.
  const NamedToken* find(const std::string& name) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;
};

/// bos, eos, unk, sep, pad, cls, mask: the order in which new ones get ids.
extern const std::vector<std::string> special_token_names;

/// Of a folder. `file`: its tokenizer.json, null where the vocabulary lies in other files. Throws
/// UserError 65.
TokenSettings read_token_settings(const std::string& folder, const nlohmann::json* file);

}  // namespace trainx::tokenizer
