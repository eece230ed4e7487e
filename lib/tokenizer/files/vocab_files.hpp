#pragma once
#include "tokenizer/pipeline.hpp"
#include <nlohmann/json_fwd.hpp>

namespace trainx::tokenizer {

/// The `model` of a tokenizer.json out of GPT-2's two files: vocab.json and merges.txt.
nlohmann::json read_merges_model(const std::string& vocab_path, const std::string& merges_path);
/// The same of vocab.txt, a token a line.
nlohmann::json read_words_model(const std::string& path);

/// Both files by themselves: GPT-2's tokenizer.
Pipeline read_gpt2_files(const std::string& vocab_path, const std::string& merges_path);
/// vocab.txt by itself: BERT's tokenizer, lower case and without accents.
Pipeline read_bert_vocab(const std::string& path);

}  // namespace trainx::tokenizer
