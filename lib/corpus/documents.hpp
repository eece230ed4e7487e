// Documents of a file of tokens, whichever kind it is.
#pragma once
#include "data/tokens/token_reader.hpp"
#include "tokenizer/tokenizer.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace trainx::corpus {

/// Which token ends a document of a token file: as FILE.json beside it says, else the tokenizer
/// (may be null).
std::optional<std::int32_t> end_of_text_of(const std::string& path,
                                           const tokenizer::Tokenizer* tokenizer);

/// Calls `use(begin, end)` for each document of a token file, as its index says, else by the token
/// that ends them, which is the last of its document; without either the file is one document.
/// Empty ones are left out.
void for_each_document(const data::tokens::TokenReader& reader,
                       std::optional<std::int32_t> end_of_text,
                       const std::function<void(std::int64_t begin, std::int64_t end)>& use);

/// Whether a file is read as labelled lines, by its name; else it is a token file.
bool is_labelled_lines(const std::string& path);

/// Whether an index beside the token file says where its documents begin. Throws UserError: 66, 65.
bool has_document_index(const std::string& path);

/// Random access to documents.
class Documents {
 public:
  virtual ~Documents() = default;
  virtual std::int64_t count() const = 0;
  virtual std::int64_t length(std::int64_t document) const = 0;  // in tokens, at least 1
  // what is predicted is given token by token
  virtual bool has_labels() const = 0;
  /// Appends tokens [first, first + tokens) of a document, and their labels where there are any.
  virtual void read(std::int64_t document, std::int64_t first, std::int64_t tokens,
                    tokenizer::Ids& ids, tokenizer::Ids& labels) const = 0;
};

/// Of a token file (.bin), or of labelled lines (.jsonl), one a line. Throws UserError: 66 missing,
/// 65 malformed, or a token file that does not say where documents end.
std::unique_ptr<Documents> open_documents(const std::string& path,
                                          std::optional<std::int32_t> end_of_text);

}  // namespace trainx::corpus
