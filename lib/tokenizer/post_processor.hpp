#pragma once
#include "tokenizer/component.hpp"
#include "tokenizer/tokenizer.hpp"
#include <cstdint>

namespace trainx::tokenizer {

/// What surrounds the tokens of a text, or of two texts.
class PostProcessor {
 public:
  /// Nothing around them; the second text is of type 1.
  PostProcessor();
  /// BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing.
  explicit PostProcessor(const Component& component);
  /// The tokens that it adds.
  Ids added() const;
  Encoding apply(const Ids& first, const std::optional<Ids>& second, bool special) const;

 private:
  struct Part {
    int text = -1;  // 0 or 1: the tokens of that text; else `ids`
    Ids ids;
    std::int32_t type_id = 0;
  };
  using Template = std::vector<Part>;
  static Template read_template(const Component& component, const char* key);
  void read(const Component& component);

  Template single_, pair_;
};

}  // namespace trainx::tokenizer
