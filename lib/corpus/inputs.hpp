#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::corpus {

// json: an array of objects; table: Parquet or Arrow
enum class Format : std::uint8_t { text, jsonl, csv, tsv, json, table };

/// A file of raw text.
struct Input {
  std::string path;
  Format format = Format::text;
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;  // when it was last written
};

/// `name` as --format has it. Throws UserError 2.
Format format_of(const std::string& name);
/// The files, and those in folders and their sub-folders (names with a leading dot left out),
/// sorted within each folder. `format` empty: by each file's ending, text where it says nothing.
/// Whether JSON is an array or lines follows from its first bytes. Throws UserError: 66 missing, 65
/// a folder without files, a file of a format that trainx does not read, JSON that is neither.
std::vector<Input> find_inputs(const std::vector<std::string>& paths, const std::string& format);

/// Bytes [begin, end) of a file, to be moved to where a line begins, or where a text can be cut.
struct Slice {
  std::size_t input = 0, begin = 0, end = 0;
  std::int64_t first_record =
      0;  // of a JSON array: the number of the object that begins at `begin`; 0: the array does
};
/// What is done at once, and again after an interruption.
using Part = std::vector<Slice>;
/// The inputs in parts of like size, which depend on the inputs alone. A JSON array is walked
/// through, and cut between its objects. Throws UserError 65 for a malformed array.
std::vector<Part> cut_into_parts(const std::vector<Input>& inputs);

}  // namespace trainx::corpus
