#pragma once
#include "corpus/part_encoder.hpp"
#include "tokenizer/tokenizer.hpp"
#include <functional>

namespace trainx::corpus {

struct FilterOptions {
  // samples, a line each; of decoding `special` says whether special tokens are told
  OutputOptions output;
  bool decode = false;  // {"input_ids": [...]} in, {"text": "..."} out
  int threads = 1;
};

/// JSON lines from a descriptor to `write`, which gets whole lines, in order: {"text": "..."} in,
/// {"input_ids": [...]} out. Lines go out as soon as there is nothing more to read at once. Throws
/// UserError 65 (`name`:line: what), 74.
void filter_lines(const tokenizer::Tokenizer& tokenizer, const FilterOptions& options, int in,
                  const std::string& name, const std::function<void(const std::string&)>& write);

}  // namespace trainx::corpus
