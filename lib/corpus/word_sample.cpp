#include "corpus/word_sample.hpp"
#include "corpus/around.hpp"
#include "corpus/document_cut.hpp"
#include "data/source.hpp"

namespace trainx::corpus {
namespace {

using tokenizer::Ids;

/// Does a word need the space before it to have the tokens that it has inside a text? Byte-level
/// BPE keeps spaces with words; WordPiece drops them, and SentencePiece puts one before any text.
bool needs_space(tokenizer::Encoder& encoder) {
  Ids both, twice;
  encoder.append("a a", both);
  encoder.append("a", twice);
  encoder.append("a", twice);
  return both != twice;
}

}  // namespace

MaskedSample word_sample(const TaggedWords& words, const tokenizer::Tokenizer& tokenizer,
                         bool special, tokenizer::Encoder& encoder, const std::string& place) {
  const Around around(tokenizer, special);
  const std::string space = needs_space(encoder) ? " " : "";
  MaskedSample out{around.before, {}};
  for (std::size_t i = 0; i < words.words.size(); ++i) {
    if (words.words[i].empty()) continue;  // no token could have its tag
    out.labels.resize(out.ids.size(), data::no_target);
    append_document(space + words.words[i], encoder, out.ids, place);
    if (out.ids.size() > out.labels.size())
      out.labels.push_back(static_cast<std::int32_t>(words.tags[i]));
  }
  out.ids.insert(out.ids.end(), around.behind.begin(), around.behind.end());
  out.labels.resize(out.ids.size(), data::no_target);
  return out;
}

}  // namespace trainx::corpus
