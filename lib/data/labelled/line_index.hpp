#pragma once
#include "data/labelled/line.hpp"
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainx::data::labelled {

/// Where the lines of a file begin. Blank lines at the end are no lines.
class LineIndex {
 public:
  /// Lines, whatever they hold.
  explicit LineIndex(std::span<const std::byte> bytes);
  /// Lines of JSON, or where the file begins with '[' the objects of its array. Throws UserError 65
  /// for an array of anything else, or without an end.
  static LineIndex of_json(std::span<const std::byte> bytes, const std::string& path);

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  /// Without its end of line, and without a byte order mark. Points into the bytes.
  std::string_view line(std::int64_t index) const;
  /// For messages.
  LinePlace place(const std::string& path, std::int64_t index) const;

 private:
  LineIndex() = default;

  std::string_view text_;
  std::vector<std::size_t> ends_;  // of each line, where its newline stands; of a record, behind it
  std::vector<std::size_t> begins_;    // of records of an array; empty: lines follow one another
  std::vector<std::int64_t> numbers_;  // of records: the line each begins on, from 1
};

bool is_blank(std::string_view text);

}  // namespace trainx::data::labelled
