#pragma once
#include "corpus/inputs.hpp"
#include "corpus/record.hpp"
#include "tokenizer/train/learn_tokenizer.hpp"
#include <cstdint>
#include <functional>

namespace trainx::corpus {

struct VocabularyOptions {
  std::vector<std::string> inputs;
  InputChoice choice;
  FieldNames names;
  tokenizer::LearnedKind kind = tokenizer::LearnedKind::bpe;
  std::int64_t vocab_size = 0;
  int threads = 1;
  std::function<void()> begins = [] {};  // called once all inputs are found to be readable
};

/// A tokenizer.json learned from the inputs; of more than 512 MiB from parts that lie evenly in
/// them. The same inputs give the same file.
std::string train_vocabulary(const VocabularyOptions& options);

}  // namespace trainx::corpus
