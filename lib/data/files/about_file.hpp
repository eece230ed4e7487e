// FILE.json beside a file of tokens: what `trainx data tokenize` and `pack` know of it.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trainx::data {

struct AboutFile {
  // The file of the tokenizer that made the tokens; empty: not known. FILE.json names it relative
  // to itself, which is resolved here.
  std::string tokenizer;
  std::string tokenizer_hash;               // of its tokens and ids; empty: not known
  std::int64_t vocab_size = 0;              // that tokenizer's; 0: not known
  std::optional<std::int32_t> end_of_text;  // the token that ends a document
  std::optional<std::int32_t> mask_token;
  std::vector<std::int64_t> special_tokens;  // ascending; empty: not known
  // the chat template that was named instead of the tokenizer's own; empty: none
  std::string chat_template;
  std::vector<std::string> label_names;  // of the classes, in their order; empty: numbers
};

/// Of the file of tokens `path`. Nothing where there is no FILE.json, or it says something else:
/// people may put files of their own there.
AboutFile read_about(const std::string& path);
/// What `about` says of its tokenizer, as keys of the FILE.json of `path`.
void add_tokenizer(const AboutFile& about, const std::string& path, nlohmann::ordered_json& json);
void write_about(const std::string& path, const nlohmann::ordered_json& about);

}  // namespace trainx::data
