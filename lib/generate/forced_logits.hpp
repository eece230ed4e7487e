// Tokens that a model's folder wants at the beginning and at the end of what is written.
#pragma once
#include "generate/generate.hpp"
#include <cstdint>
#include <span>
#include <vector>

namespace trainx::generate {

class ForcedLogits {
 public:
  explicit ForcedLogits(const GenerationOptions& options) : options_(options) {}

  /// What follows a text to which `added` tokens were added: `logits` [vocab_size], or 0 for the
  /// forced tokens and -infinity for all others, which lasts as long as this. Where the first token
  /// is the last as well, it is the one that ends.
  std::span<const float> instead_of(std::span<const float> logits, std::int64_t added);

 private:
  const GenerationOptions& options_;
  std::vector<float> first_, last_;
};

}  // namespace trainx::generate
