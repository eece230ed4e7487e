#pragma once
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/decoder.hpp"
#include "tokenizer/model.hpp"
#include "tokenizer/post_processor.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/tokenizer.hpp"

namespace trainx::tokenizer {

/// A tokenizer as Hugging Face's are made up: added tokens are cut out, the rest is normalised, cut
/// into pieces, and each piece into tokens.
struct Pipeline {
  AddedTokens added;
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<Model> model;
  PostProcessor post_processor;
  std::unique_ptr<Decoder> decoder;  // null: tokens are joined by blanks
};

std::unique_ptr<Tokenizer> make_tokenizer(Pipeline pipeline);

}  // namespace trainx::tokenizer
