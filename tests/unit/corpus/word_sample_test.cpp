// Words with tags: the first token of a word has its tag.
#include "corpus/word_sample.hpp"
#include <algorithm>
#include "support/catch.hpp"
#include "unit/corpus/made_tokenizer.hpp"

namespace word_sample_test {

using namespace trainx;
using namespace trainx::corpus;

namespace {

MaskedSample sample_of(const MadeTokenizer& made, const TaggedWords& words, bool special = true) {
  const auto encoder = made.tokenizer->make_encoder();
  return word_sample(words, *made.tokenizer, special, *encoder, "a:1");
}

/// What word_sample makes, from the tokens of each word.
MaskedSample expected(const MadeTokenizer& made, const TaggedWords& words, const char* space,
                      bool special) {
  MaskedSample out;
  for (std::size_t i = 0; i < words.words.size(); ++i) {
    const tokenizer::Ids ids = made.encode(space + words.words[i]);
    for (std::size_t token = 0; token < ids.size(); ++token)
      out.labels.push_back(token == 0 ? static_cast<std::int32_t>(words.tags[i]) : -100);
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
  }
  if (!special) return out;
  const tokenizer::Ids around = made.tokenizer->sample({}, std::nullopt, true).ids;
  if (around.size() == 2) {  // [CLS] and [SEP]
    out.ids.insert(out.ids.begin(), around[0]);
    out.labels.insert(out.labels.begin(), -100);
    out.ids.push_back(around[1]);
    out.labels.push_back(-100);
  }
  return out;
}

}  // namespace

TEST_CASE("the first token of a word has its tag, all others none") {
  const TaggedWords words{{"the", "thatend", "sat", "zebra"}, {0, 3, -100, 7}};
  for (const bool special : {true, false}) {
    const MadeTokenizer pieces(tokenizer::LearnedKind::wordpiece);
    const MaskedSample got = sample_of(pieces, words, special),
                       want = expected(pieces, words, "", special);
    CHECK(got.ids == want.ids);
    CHECK(got.labels == want.labels);
    CHECK(std::ranges::count(got.labels, 7) == 1);
    CHECK(got.ids.size() > words.words.size() + (special ? 2 : 0));
    // a space belongs to the word behind it
    const MadeTokenizer bytes(tokenizer::LearnedKind::bpe);
    CHECK(bytes.encode("the the") != bytes.encode("thethe"));
    const MaskedSample of_bytes = sample_of(bytes, words, special),
                       wanted = expected(bytes, words, " ", special);
    CHECK(of_bytes.ids == wanted.ids);
    CHECK(of_bytes.labels == wanted.labels);
  }
}

TEST_CASE("a word without tokens takes its tag along") {
  const MadeTokenizer made(tokenizer::LearnedKind::wordpiece);
  const MaskedSample got = sample_of(made, {{"", "cat", " "}, {5, 1, 6}}, false),
                     want = sample_of(made, {{"cat"}, {1}}, false);
  CHECK(got.ids == want.ids);
  CHECK(got.labels == want.labels);
  CHECK(sample_of(made, {{""}, {1}}, false).ids.empty());
}

TEST_CASE("words are a text where a vocabulary is learned") {
  CHECK(TaggedWords{{"a", "b", "c"}, {0, 1, 2}}.text() == "a b c");
}

}  // namespace word_sample_test
