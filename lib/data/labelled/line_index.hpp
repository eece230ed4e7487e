#pragma once
#include "data/labelled/line.hpp"
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainx::data::labelled {

/// Where the lines of a file begin. Blank lines are no lines.
class LineIndex {
 public:
  /// Lines, whatever they hold.
  explicit LineIndex(std::span<const std::byte> bytes);
  /// Lines of JSON, or where the file begins with '[' the objects of its array. Throws UserError 65
  /// for an array of anything else, or without an end.
  static LineIndex of_json(std::span<const std::byte> bytes, const std::string& path);
  /// Records of csv, which may go over several lines.
  static LineIndex of_csv(std::span<const std::byte> bytes, char delimiter);

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  /// Without its end of line, and without a byte order mark. Points into the bytes.
  std::string_view line(std::int64_t index) const;
  /// Of a line in its file, from 1.
  std::int64_t number(std::int64_t index) const;
  /// For messages.
  LinePlace place(const std::string& path, std::int64_t index) const;

 private:
  LineIndex() = default;
  void add(std::size_t begin, std::size_t end, std::int64_t number);

  std::string_view text_;
  std::vector<std::size_t> ends_;  // of each line, where its newline stands; of a record, behind it
  std::vector<std::size_t> begins_;    // empty: lines follow one another, the first at 0
  std::vector<std::int64_t> numbers_;  // where there are begins_: the line each is on, from 1
  bool array_ = false;                 // lines are records of an array
};

bool is_blank(std::string_view text);

}  // namespace trainx::data::labelled
