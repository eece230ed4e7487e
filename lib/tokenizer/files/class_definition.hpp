#pragma once
#include "tokenizer/files/token_settings.hpp"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::tokenizer {

/// What stands around a text, in classes that do not leave it to tokenizer.json.
enum class Around : std::uint8_t {
  file,             // tokenizer.json's post-processor, else add_bos_token and add_eos_token
  ends,             // add_bos_token and add_eos_token
  albert,           // tokenizer.json's, else [CLS] text [SEP]
  bert,             // [CLS] text [SEP] text [SEP]
  roberta,          // <s> text </s></s> text </s>
  xlm,              // the same, all of type 0
  t5,               // text </s> text </s>
  language_behind,  // text text </s> language
  language_before,  // language text text </s>
};

/// A tokenizer class of transformers: how it builds a tokenizer out of a vocabulary.
struct ClassDefinition {
  std::string_view name;
  std::string_view model;          // the type of tokenizer.json's model
  std::vector<std::string> files;  // of the vocabulary, where there is no tokenizer.json
  /// Named unless settings name others. Empty: the class says that there is none, so that the token
  /// which a tokenizer.json pads with is not taken.
  std::vector<std::pair<std::string, std::string>> tokens;
  Around around = Around::file;
  /// Writes normalizer, pre_tokenizer and decoder, and the options of the model, into a
  /// tokenizer.json. `charsmap`: the normalizer's table in base64, or empty.
  void (*build)(const TokenSettings& settings, const std::string& charsmap,
                nlohmann::json& document) = nullptr;
};

/// Null for a class that trainx does not build. The class that takes a tokenizer.json as it is has
/// no definition.
const ClassDefinition* find_class(std::string_view name);
/// mBART's languages, whose tokens lie behind its vocabulary; of mBART-50 if `fifty`.
const std::vector<std::string>& mbart_languages(bool fifty);

}  // namespace trainx::tokenizer
