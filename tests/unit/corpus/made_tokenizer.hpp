#pragma once
#include "tokenizer/tokenizer.hpp"
#include "tokenizer/train/learn_tokenizer.hpp"
#include "unit/data/scratch_folder.hpp"

namespace trainx::corpus {

/// A small tokenizer of each kind, in a folder of its own.
struct MadeTokenizer {
  explicit MadeTokenizer(tokenizer::LearnedKind kind = tokenizer::LearnedKind::bpe) {
    const auto counter = tokenizer::make_counter(kind);
    const std::string text =
        "the cat sat on the mat, and the rat ran to the cat; that was that. the end of the rat, "
        "the cat and the mat.";
    {
      const auto encoder = counter->make_encoder();
      tokenizer::Ids ids;
      encoder->append(text, ids);
      tokenizer::PieceCounter::count(*encoder, ids);
    }
    path = folder.write("made/tokenizer.json",
                        tokenizer::learn_tokenizer(kind, counter->counts(), 300));
    tokenizer = tokenizer::open_tokenizer(path);
  }
  tokenizer::Ids encode(std::string_view text) const {
    tokenizer::Ids ids;
    tokenizer->make_encoder()->append(text, ids);
    return ids;
  }

  data::ScratchFolder folder;
  std::string path;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
};

}  // namespace trainx::corpus
