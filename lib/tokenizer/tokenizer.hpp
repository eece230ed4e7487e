// Text to token ids and back, as Hugging Face's tokenizers and Google's SentencePiece do it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::tokenizer {

using Ids = std::vector<std::int32_t>;

/// A sample: tokens, and which of a pair of texts each belongs to.
struct Encoding {
  Ids ids, type_ids;
};

/// One thread's way to tokens: it remembers pieces that it has met.
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// Appends the tokens of well-formed UTF-8, without what surrounds a sample ([CLS], <s>). Throws
  /// UserError 65 where a pattern gives up on the text.
  virtual void append(std::string_view text, Ids& ids) = 0;
};

/// Thread-safe; outlives its encoders.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::unique_ptr<Encoder> make_encoder() const = 0;
  /// Tokens of a text, or of two, become a sample. `special`: with the tokens that the tokenizer
  /// puts around them.
  virtual Encoding sample(Ids first, std::optional<Ids> second, bool special) const = 0;
  /// `skip_special`: without special tokens. Ids that are no token are left out.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special) const = 0;
  /// One more than the highest id.
  virtual std::int64_t vocab_size() const = 0;
  /// -1 where there is no such token.
  virtual std::int32_t id_of(std::string_view token) const = 0;
  /// As it is spelled in the vocabulary; empty where no token has the id.
  virtual std::string token_of(std::int64_t id) const = 0;
  /// The token that ends a document, where the files name one: -1 if not.
  std::int32_t end_of_text() const { return end_of_text_; }
  void set_end_of_text(std::int32_t id) { end_of_text_ = id; }
  /// The file that it was read from.
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }

 private:
  std::int32_t end_of_text_ = -1;
  std::string path_;
};

/// `name`: a folder or file, else an id of the Hugging Face hub that its local cache has.
/// A folder (tokenizer.json; else a SentencePiece *.model; vocab.json and merges.txt; vocab.txt) or
/// one of these files. A folder's config.json must have room for its ids. Throws UserError: 66
/// missing, 65 malformed or not supported.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);
/// Does the folder hold a file that open_tokenizer would read?
bool has_tokenizer(const std::string& folder);

}  // namespace trainx::tokenizer
