#pragma once
#include "corpus/inputs.hpp"
#include "corpus/record.hpp"
#include "tokenizer/tokenizer.hpp"
#include <cstdint>

namespace trainx::corpus {

/// What comes out of raw text.
struct OutputOptions {
  FieldNames names;
  // a labelled line for each input line; else one stream of tokens
  bool samples = false;
  // of a stream: the second text of a pair follows the first; else it is refused
  bool pairs_in_stream = false;
  bool special = true;  // with the tokens that the tokenizer puts around a sample
  // behind each document of a stream that does not end with it; -1: none
  std::int32_t end_of_text = -1;
};

/// What a part became.
struct EncodedPart {
  tokenizer::Ids ids;  // of a stream
  std::string lines;   // of samples
  std::int64_t documents = 0, tokens = 0;
};

/// Throws UserError 65: file, line and what is wrong there.
EncodedPart encode_part(const std::vector<Input>& inputs, const Part& part,
                        const tokenizer::Tokenizer& tokenizer, const OutputOptions& options,
                        tokenizer::Encoder& encoder);

}  // namespace trainx::corpus
