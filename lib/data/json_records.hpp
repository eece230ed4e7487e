// A JSON array of objects, [{...}, {...}], one object at a time.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainx::data {

/// What a file of JSON holds, by its first bytes.
enum class JsonLayout : std::uint8_t {
  empty,
  array,
  lines,
  object,
  other
};  // object: one over several lines
JsonLayout json_layout(std::string_view text);

/// Walks over the objects of an array. Looks at brackets and strings alone: what is inside an
/// object is left to whoever reads it. Memory does not grow with the file.
class JsonRecords {
 public:
  /// From the array's beginning.
  JsonRecords(std::string_view text, const std::string& path);
  /// From an object that begins at byte `begin` and is the `number`-th, from 1; a position that
  /// `next` stood at.
  JsonRecords(std::string_view text, const std::string& path, std::size_t begin,
              std::int64_t number);

  /// False after the last. Throws UserError 65 (file:line: what) for anything that is not an
  /// object, and where the array does not end.
  bool next();
  std::string_view record() const { return text_.substr(begin_, end_ - begin_); }
  std::size_t begin() const { return begin_; }     // byte of the file
  std::int64_t number() const { return number_; }  // from 1
  /// Line of the record, from 1: counted anew at each call.
  std::int64_t line() const;

 private:
  [[noreturn]] void refuse(std::size_t at, const std::string& what) const;
  std::size_t skip_blanks(std::size_t at) const;
  /// Behind the object that begins at `at`.
  std::size_t end_of_object(std::size_t at) const;
  void require_end(std::size_t at) const;

  std::string_view text_;
  const std::string& path_;
  std::size_t begin_ = 0, end_ = 0;  // of the record; end_: where the walk goes on
  std::int64_t number_ = 0;          // records so far
};

}  // namespace trainx::data
