#pragma once
#include "tokenizer/vocabulary.hpp"
#include <cstdint>

namespace trainx::tokenizer {

/// Cuts a piece of text into tokens of its vocabulary. Thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& ids) const = 0;
  virtual const VocabularyTable& vocabulary() const = 0;
};

}  // namespace trainx::tokenizer
