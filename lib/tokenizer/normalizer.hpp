#pragma once
#include "tokenizer/component.hpp"
#include "tokenizer/pattern/pattern.hpp"
#include <memory>
#include <string>

namespace trainx::tokenizer {

/// A text on its way, and how many code points at its front come from the first one of the text
/// that was given (0: that is gone), which Metaspace asks for.
struct Draft {
  std::string text;
  std::size_t from_first = 1;
};

/// Changes a text before it is cut. Thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(Draft& draft, MatchSpace& space) const = 0;
};

/// BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Sequence, Strip,
/// StripAccents.
std::unique_ptr<Normalizer> make_normalizer(const Component& component);

/// `pattern` of a component: {"String": ...} or {"Regex": ...}.
Pattern make_pattern(const Component& component);
/// `text` with each match of the pattern replaced.
std::string replaced(std::string_view text, const Pattern& pattern, const std::string& content,
                     MatchSpace& space);

}  // namespace trainx::tokenizer
