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

/// Tokens that the tokenizer's files name; -1: none.
struct NamedTokens {
  std::int32_t end_of_text = -1;  // ends a document
  std::int32_t mask = -1;         // stands for a token to be found
  Ids special;                    // all that have a name, ascending; empty: not known
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
  const NamedTokens& named() const { return named_; }
  std::int32_t end_of_text() const { return named_.end_of_text; }
  void set_named(NamedTokens named) { named_ = std::move(named); }
  void set_end_of_text(std::int32_t id) { named_.end_of_text = id; }
  /// The file that it was read from.
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }

 private:
  NamedTokens named_;
  std::string path_;
};

/// `name`: a folder or file, else an id of the Hugging Face hub that its local cache has.
/// A folder's tokenizer is that which AutoTokenizer of transformers builds of its files; a file's
/// is that of its folder, with this file as the vocabulary. A vocabulary whose folder names no
/// class is read by itself. A folder's config.json must have room for its ids. Throws UserError: 66
/// missing, 65 malformed or not supported.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);
/// The tokenizer_class that a copy of this file needs in another folder, so that it is read there
/// as here; empty: no class reads it so.
std::string class_to_name(const std::string& file);
/// Does the folder hold a file that open_tokenizer would read?
bool has_tokenizer(const std::string& folder);

}  // namespace trainx::tokenizer
