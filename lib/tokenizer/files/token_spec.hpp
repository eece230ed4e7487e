#pragma once
#include <optional>
#include <string>

namespace trainx::tokenizer {

/// A token with its flags, as `AddedToken` of Hugging Face's tokenizers.
struct TokenSpec {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, special = false;
  std::optional<bool> normalized = {};  // unset: unless the token is special
  bool is_normalized() const { return normalized.value_or(!special); }
  bool operator==(const TokenSpec& other) const {
    return content == other.content && single_word == other.single_word && lstrip == other.lstrip &&
           rstrip == other.rstrip && special == other.special &&
           is_normalized() == other.is_normalized();
  }
};

/// A token as settings name it: by its text alone, or with flags.
struct NamedToken {
  TokenSpec token;
  bool is_text = true;
  bool operator==(const NamedToken&) const = default;
};

}  // namespace trainx::tokenizer
