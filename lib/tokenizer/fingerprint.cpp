#include "tokenizer/fingerprint.hpp"
#include "core/hash.hpp"
#include <algorithm>

namespace trainx::tokenizer {

std::string fingerprint(const Tokenizer& tokenizer) {
  Hasher hasher;
  for (std::int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string token = tokenizer.token_of(id) + '\n';
    hasher.update(std::as_bytes(std::span(token)));
  }
  return hasher.hex();
}

std::optional<std::int64_t> first_difference(const Tokenizer& a, const Tokenizer& b) {
  const std::int64_t both = std::min(a.vocab_size(), b.vocab_size());
  for (std::int64_t id = 0; id < both; ++id)
    if (a.token_of(id) != b.token_of(id)) return id;
  return std::nullopt;
}

}  // namespace trainx::tokenizer
