// What is in a file of tokens, for people and as JSON.
#pragma once
#include "tokenizer/tokenizer.hpp"
#include <nlohmann/json.hpp>
#include <cstdint>

namespace trainx::corpus {

struct InspectOptions {
  std::string path;
  const tokenizer::Tokenizer* tokenizer = nullptr;  // null: ids alone
  std::int64_t first = 0, shown = 3;                // documents or samples whose tokens are shown
  std::int64_t most_tokens = 64;                    // of each
  std::int64_t sequence_length = 0;                 // of rows: 0: not asked for
  // what ends a document of a token file; nothing: as FILE.json or the tokenizer says
  std::optional<std::int32_t> end_of_text;
};

/// A document of a token file, or a sample of labelled lines.
struct Shown {
  // begin: its first token in the file, or its line
  std::int64_t number = 0, begin = 0, tokens = 0;
  tokenizer::Ids ids;         // the first of them
  std::vector<bool> in_loss;  // of each of `ids`: whether it is predicted
  // of a packed line: of each of `ids` whether a document begins with it; else empty
  std::vector<bool> begins;
  std::optional<std::int64_t> label;
  tokenizer::Ids targets;             // of another text: the first tokens to write
  std::int64_t target_tokens = 0;     // ... and how many there are
  std::vector<std::int64_t> classes;  // of each of `ids`, -100: none; empty: tokens are predicted
};

struct Inspection {
  std::string path, kind;  // "token file" or "labelled lines"
  std::int64_t bytes = 0, bytes_per_token = 0, tokens = 0;
  std::int64_t parts = 0;  // documents or samples; 0: not known
  std::int64_t shortest = 0, longest = 0;
  std::int64_t documents = 0;  // of packed lines; 0: a line is one
  std::int64_t highest_id = 0;
  std::int64_t in_loss = 0;                                   // tokens that are predicted
  std::int64_t without_target = 0;                            // samples with labels, all -100
  std::int64_t longer = 0;                                    // samples than sequence_length
  std::int64_t rows = 0;                                      // of sequence_length tokens
  double padding_share = 0;                                   // of the tokens of those rows
  std::vector<std::pair<std::int64_t, std::int64_t>> labels;  // class, samples
  std::vector<std::string> label_names;                       // of the classes; empty: numbers
  std::vector<Shown> shown;
};

/// Throws UserError: 66 missing, 65 malformed.
Inspection inspect(const InspectOptions& options);

/// For a terminal of so many columns; `color`: with the escapes of one.
std::string describe(const Inspection& inspection, const InspectOptions& options, int columns,
                     bool color);
nlohmann::ordered_json to_json(const Inspection& inspection, const InspectOptions& options);

}  // namespace trainx::corpus
