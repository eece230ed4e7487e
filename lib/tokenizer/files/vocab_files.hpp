#pragma once
#include "tokenizer/pipeline.hpp"

namespace trainx::tokenizer {

/// GPT-2's two files: vocab.json and merges.txt.
Pipeline read_gpt2_files(const std::string& vocab_path, const std::string& merges_path);
/// BERT's vocab.txt, a token a line, as `BertTokenizerFast` reads it: lower case and without
/// accents unless `lowercase` is false.
Pipeline read_bert_vocab(const std::string& path, bool lowercase);

}  // namespace trainx::tokenizer
