#include "corpus/train_vocabulary.hpp"
#include "corpus/encoders.hpp"
#include "corpus/part_encoder.hpp"

namespace trainx::corpus {

std::string train_vocabulary(const VocabularyOptions& o) {
  constexpr std::int64_t enough_bytes = std::int64_t{512} << 20;
  const auto inputs = find_inputs(o.inputs, o.choice);
  const auto parts = cut_into_parts(inputs);
  o.begins();
  std::int64_t bytes = 0;
  for (const Input& input : inputs) bytes += input.bytes;
  const auto all = static_cast<std::int64_t>(parts.size());
  const std::int64_t used =
      bytes <= enough_bytes ? all : std::max<std::int64_t>(1, all * enough_bytes / bytes);
  const auto counter = tokenizer::make_counter(o.kind);
  {
    Encoders encoders(*counter, o.threads);
    OutputOptions output;
    output.names = o.names;
    output.samples = false;
    output.pairs_in_stream = true;
    encoders.for_each_telling_all(used, [&](std::int64_t i, tokenizer::Encoder& encoder) {
      tokenizer::PieceCounter::count(
          encoder, encode_part(inputs, parts[static_cast<std::size_t>(i * all / used)], *counter,
                               output, encoder)
                       .ids);
    });
  }
  return tokenizer::learn_tokenizer(o.kind, counter->counts(), o.vocab_size);
}

}  // namespace trainx::corpus
