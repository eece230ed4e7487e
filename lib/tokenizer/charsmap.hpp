#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::tokenizer {

/// SentencePiece's precompiled table of replacements: a double-array trie (Aoe 1989) of byte
/// strings, and what they become.
class Charsmap {
 public:
  /// `encoded`: base64 of the trie's bytes (uint32), its units, and the replacements with a NUL
  /// behind each. `place` begins the sentence of a refusal (UserError 65).
  Charsmap(const std::string& encoded, std::string place);
  /// What the shortest key at the front of `text` becomes; nothing where there is none. Throws
  /// UserError 65 where the trie leaves its table.
  std::optional<std::string_view> replacement(std::string_view text) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  std::uint32_t unit(std::size_t at) const;

  std::string place_;
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace trainx::tokenizer
