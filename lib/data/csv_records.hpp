// Records of csv as RFC 4180 has them: a field in quotes may hold line ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainx::data {

/// Walks over the records of a text, one after another; lines without anything but blanks are left
/// out. A quote that is never closed takes the rest of the text: whoever cuts the record's fields
/// refuses it.
class CsvRecords {
 public:
  /// `begin`: where a record begins, on line `line` from 1.
  CsvRecords(std::string_view text, char delimiter, std::size_t begin = 0, std::int64_t line = 1)
      : text_(text), delimiter_(delimiter), end_(begin), next_line_(line) {}

  /// False after the last.
  bool next();
  /// Without the end of its line.
  std::string_view record() const;
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return record_end_; }  // its newline, or the text's end
  std::int64_t line() const { return line_; }      // that it begins on

 private:
  std::size_t end_of_record(std::size_t at) const;

  std::string_view text_;
  char delimiter_;
  std::size_t begin_ = 0, record_end_ = 0;
  std::size_t end_;  // where the walk goes on
  std::int64_t line_ = 0, next_line_;
};

}  // namespace trainx::data
