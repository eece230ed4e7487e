#pragma once
#include "data/mapped_file.hpp"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trainx::corpus {

// json: an array of objects; table: Parquet or Arrow
enum class Format : std::uint8_t { text, jsonl, csv, tsv, json, table };

/// A file of raw text.
struct Input {
  std::string path;
  Format format = Format::text;
  std::int64_t bytes = 0;       // of a packed file, of what is inside
  std::int64_t changed_ns = 0;  // when it was last written
  // what is inside a file that gzip or zstd packed; null: the file is as it is
  std::shared_ptr<const data::MappedFile> unpacked = nullptr;
};

/// What is read of the paths.
struct InputChoice {
  std::string format;  // of all; empty: by each file's ending
  std::string split;   // of folders with several: train, validation or test; empty: train
};

/// `name` as --format has it. Throws UserError 2.
Format format_of(const std::string& name);
/// The files, and those in folders and their sub-folders (files_of_folder), sorted within each
/// folder. Without a format an ending that says nothing is text's. Whether JSON is an array or
/// lines follows from its first bytes. `notes`: what was left out of folders. Throws a UserError
/// about all of them: 66 missing, 65 a folder without files, a file of a format that trainx does
/// not read, JSON that is neither, 69 a table without Apache Arrow.
std::vector<Input> find_inputs(const std::vector<std::string>& paths, const InputChoice& choice,
                               std::vector<std::string>* notes = nullptr);
/// The file of an input, or what was unpacked of it.
data::MappedFile open_input(const Input& input);

/// Bytes [begin, end) of a file, to be moved to where a line begins, or where a text can be cut.
struct Slice {
  std::size_t input = 0, begin = 0, end = 0;
  // of a JSON array: the number of the object that begins at `begin`; of csv: the line that does;
  // 0: the file begins there
  std::int64_t first_record = 0;
};
/// What is done at once, and again after an interruption.
using Part = std::vector<Slice>;
/// The inputs in parts of like size, which depend on the inputs alone. A JSON array is walked
/// through, and cut between its objects; csv between its records. Throws UserError 65 for a
/// malformed array.
std::vector<Part> cut_into_parts(const std::vector<Input>& inputs);

}  // namespace trainx::corpus
