// FILE.json beside a file of tokens: what `trainx data tokenize` and `pack` know of it.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace trainx::corpus {

struct AboutFile {
  // the file of the one that made the tokens, as it was named then; empty: not known
  std::string tokenizer;
  std::int64_t vocab_size = 0;              // that tokenizer's; 0: not known
  std::optional<std::int32_t> end_of_text;  // the token that ends a document
};

/// Of the file of tokens `path`. Nothing where there is no FILE.json, or it says something else:
/// people may put files of their own there.
AboutFile read_about(const std::string& path);
void write_about(const std::string& path, const nlohmann::ordered_json& about);

}  // namespace trainx::corpus
