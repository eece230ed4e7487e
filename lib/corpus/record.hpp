// A line of raw text: what to train on, before it is tokens.
#pragma once
#include "data/labelled/line.hpp"
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::corpus {

struct TaggedWords {
  std::vector<std::string> words;
  std::vector<std::int64_t> tags;      // of each word a class, or -100: none
  std::vector<std::string> tag_names;  // instead of tags: names of classes
  std::string text() const;            // with spaces between words
};

struct Record {
  std::string text;                 // of a completion: the prompt
  std::optional<std::string> pair;  // a second text, as of sentence pairs
  // its class, a number or list of numbers, or the name of its class
  std::optional<nlohmann::json> label;
  std::optional<std::string> completion;               // what alone is learned
  std::optional<std::string> target;                   // what is written where the text is read
  std::optional<nlohmann::ordered_json> conversation;  // as read_conversation takes it
  std::optional<TaggedWords> words;                    // instead of a text
  std::optional<data::labelled::Line> tokens;          // a sample that is tokens already
  std::string unread;  // a field beside a text that may be meant for its label; empty: none
};

/// What the fields of a line are called.
struct FieldNames {
  std::string text = "text", pair = "text_pair", label = "label", target = "target";
  // of lines without a text
  std::string prompt = "prompt", completion = "completion", messages = "messages", words = "words",
              tags = "tags";
};

using data::labelled::longest_line;

/// Thread-safe.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Throws UserError 65: file:line: what.
  virtual Record read(std::string_view line, const data::labelled::LinePlace& place) const = 0;
};

/// {"text": "...", "text_pair": "...", "label": 1}; {"text": "...", "target": "..."}; {"prompt":
/// "...", "completion": "..."};
/// {"messages": [...], "tools": [...]}, or a conversation in the form of ShareGPT, Alpaca or TRL;
/// {"words": [...], "tags": [...]}; {"input_ids": [...], "labels": [...], "label": 1}, whose label
/// or labels may be numbers
std::unique_ptr<RecordReader> make_json_reader(const FieldNames& names);
/// Columns that the line `header` names: fields of csv may be in quotes; those of tsv are what
/// stands between tabs. Labels, words and tags may be lists: as JSON has them, or with blanks.
std::unique_ptr<RecordReader> make_csv_reader(std::string_view header,
                                              const data::labelled::LinePlace& place,
                                              const FieldNames& names);
std::unique_ptr<RecordReader> make_tsv_reader(std::string_view header,
                                              const data::labelled::LinePlace& place,
                                              const FieldNames& names);

}  // namespace trainx::corpus
