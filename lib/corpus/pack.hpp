// Documents into rows, several a row, so that little of a row is padding.
#pragma once
#include "corpus/documents.hpp"
#include "data/files/about_file.hpp"
#include <cstdint>

namespace trainx::corpus {

struct PackOptions {
  std::string path;                  // token file or labelled lines
  std::string out;                   // FILE.jsonl
  std::int64_t sequence_length = 0;  // tokens of a row, from 2
  // what ends a document of a token file; nothing: as the file says
  std::optional<std::int32_t> end_of_text = {};
  // of the tokenizer that made the tokens; empty: what FILE.json says of the input
  data::AboutFile tokenizer = {};
  bool overwrite = false;  // replaces `out`
};

struct PackReport {
  std::int64_t documents = 0, cut = 0;  // cut: longer than a row, so that they are several pieces
  // tokens: of the rows; a piece begins with the last token of the piece before
  std::int64_t tokens = 0, rows = 0;
  std::int64_t most_pieces = 0;       // in one row
  double padding_share = 0;           // of the rows' tokens
  double padding_share_unpacked = 0;  // ... had every piece a row of its own
};

/// Writes lines {"input_ids": [...], "document_lengths": [...]}, with labels where the documents
/// have them: a row each, for data of type jsonl with packed: true; OUT.json says what is in it,
/// and whose tokens these are, where the input's says so. Throws UserError: 73 `out` is there
/// already, 65 and 66 about the input, 74.
PackReport pack(const PackOptions& options);

}  // namespace trainx::corpus
