#pragma once
#include "data/source.hpp"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainx::worker {

/// Between text and the ids of a model's tokens.
class TextCodec {
 public:
  virtual ~TextCodec() = default;
  /// Well-formed UTF-8 as the beginning of a text. Throws UserError 65 for what has no tokens.
  virtual std::vector<std::int32_t> encode(const std::string& text) const = 0;
  /// ... as a text that ends there.
  virtual std::vector<std::int32_t> encode_whole(const std::string& text) const {
    return encode(text);
  }
  /// All ids at once: a token may end in the middle of a character. Ids that are no token are left
  /// out.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// The token that ends a text, where the codec knows one; -1 if not.
  virtual std::int32_t end_of_text() const { return -1; }
  /// Is what decode gives a text, in which a token that ends it has no place?
  virtual bool is_text() const { return true; }
};

/// By, in this order: the tokenizer that `tokenizer` names (a folder or a file; "none": ids),
/// `vocabulary` (of the run's data, may be null), the tokenizer in the model's folder; else text is
/// ids with spaces between. Throws UserError: 66 no such tokenizer, 65 one that cannot be read, or
/// with ids beyond `vocab_size`.
std::unique_ptr<TextCodec> make_text_codec(const std::string& tokenizer,
                                           std::unique_ptr<data::Vocabulary> vocabulary,
                                           const std::string& model_folder,
                                           std::int64_t vocab_size);

}  // namespace trainx::worker
