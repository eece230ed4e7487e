#pragma once
#include "tokenizer/files/token_spec.hpp"
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trainx::tokenizer {

/// Tokens and ids of a tokenizer.json's `model`. Views into it: it must outlive this.
class ModelVocabulary {
 public:
  explicit ModelVocabulary(const nlohmann::json& model);
  /// -1 where there is no such token.
  std::int32_t id_of(std::string_view token) const;
  bool has_id(std::int64_t id) const {
    return id >= 0 && id < static_cast<std::int64_t>(used_.size()) &&
           used_[static_cast<std::size_t>(id)];
  }
  /// Entries, which need not be one more than the highest id.
  std::int64_t count() const { return count_; }

 private:
  std::unordered_map<std::string_view, std::int32_t> ids_;
  std::vector<bool> used_;  // by id
  std::int64_t count_ = 0;
};

/// Added tokens and their ids, given as Hugging Face's tokenizers give them: a token of the
/// vocabulary keeps its id, another gets the next one behind all that there are.
class AddedTokenList {
 public:
  explicit AddedTokenList(const ModelVocabulary& vocabulary) : vocabulary_(vocabulary) {}
  /// A token that was added before gets new flags, but stays special.
  void add(const TokenSpec& token);
  /// Whether this very token was added, flags included.
  bool has(const TokenSpec& token) const;
  bool has_content(const std::string& content) const { return ids_.contains(content); }
  /// Of an added token, else of the vocabulary; -1 where there is none.
  std::int32_t id_of(const std::string& content) const;
  /// As a tokenizer.json writes them.
  nlohmann::json to_json() const;
  /// Tokens that were normalized under earlier flags: they are decoded so, which a tokenizer.json
  /// cannot say.
  std::vector<std::string> once_normalized() const;

 private:
  const ModelVocabulary& vocabulary_;
  std::map<std::string, std::int32_t> ids_;
  std::map<std::int32_t, TokenSpec> tokens_;
  std::set<std::string> special_, normalized_;  // contents of tokens that are so, or were
  std::int32_t highest_ = -1;
};

}  // namespace trainx::tokenizer
