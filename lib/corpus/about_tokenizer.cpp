#include "corpus/about_tokenizer.hpp"
#include "tokenizer/fingerprint.hpp"

namespace trainx::corpus {

data::AboutFile about_tokenizer(const tokenizer::Tokenizer& tokenizer) {
  data::AboutFile about;
  about.tokenizer = tokenizer.path();
  about.tokenizer_hash = tokenizer::fingerprint(tokenizer);
  about.vocab_size = tokenizer.vocab_size();
  if (tokenizer.named().mask >= 0) about.mask_token = tokenizer.named().mask;
  about.special_tokens.assign(tokenizer.named().special.begin(), tokenizer.named().special.end());
  return about;
}

}  // namespace trainx::corpus
