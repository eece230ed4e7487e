#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include "tokenizer/files/tokenizer_json.hpp"

namespace trainx::fuzz {

void fuzz_tokenizer(Bytes bytes, const Ways&) {
  const std::string json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  if (!accepted([&] {
        tokenizer =
            tokenizer::make_tokenizer(tokenizer::read_tokenizer_json(json, "tokenizer.json"));
      }))
    return;
  require(tokenizer->vocab_size() >= 1, "a tokenizer that opens has tokens");
  const auto encoder = tokenizer->make_encoder();
  for (const std::string text :
       {"", "a", "the Cat's mat, 12 345!\n\n  [SEP]<s>",
        "e\u0301\u00e9 \u4e2d\u6587\u3000\U0001f600 \u0300\xc2\xa0x",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  \t\r\n"}) {
    tokenizer::Ids ids, again;
    if (!accepted([&] { encoder->append(text, ids); })) continue;
    encoder->append(text, again);
    require(ids == again, "a text has the same tokens twice");
    for (const std::int32_t id : ids)
      require(id >= 0 && id < tokenizer->vocab_size() && !tokenizer->token_of(id).empty(),
              "ids are tokens of the vocabulary");
    for (const bool special : {false, true}) {
      const auto sample = tokenizer->sample(ids, again, special);
      for (const std::int32_t id : sample.ids)
        require(id >= 0 && id < tokenizer->vocab_size(), "ids of a sample lie in the vocabulary");
      require(sample.ids.size() == sample.type_ids.size(), "each token has a type");
      tokenizer->decode(sample.ids, special);
    }
  }
}

}  // namespace trainx::fuzz
