#include "corpus/inputs.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "data/foreign_file.hpp"
#include "data/json_records.hpp"
#include "data/tables/table_file.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::corpus {
namespace {

namespace fs = std::filesystem;
constexpr std::pair<const char*, Format> formats[] = {
    {"text", Format::text},  {"jsonl", Format::jsonl}, {"csv", Format::csv},
    {"tsv", Format::tsv},    {"json", Format::json},   {"parquet", Format::table},
    {"arrow", Format::table}};

Format format_by_ending(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".tab") return Format::tsv;
  for (const auto& [name, format] : formats)
    if (ending == std::string(".") + name) return format;
  return Format::text;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.'))
      at.disable_recursion_pending();
    else if (at->is_regular_file(error))
      files.push_back(at->path().string());
  }
  if (error)
    throw UserError(ExitCode::input_missing,
                    "cannot read the folder " + yaml::excerpt(folder) + ": " + error.message());
  if (files.empty())
    throw UserError(ExitCode::bad_data, "the folder " + yaml::excerpt(folder) + " has no files");
  std::ranges::sort(files);
  return files;
}

std::string_view text_of(const data::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// The first key of an object, for a sentence.
std::string first_key(std::string_view text) {
  const std::size_t quote = text.find('"'),
                    end = quote == std::string_view::npos ? quote : text.find('"', quote + 1);
  return end == std::string_view::npos
             ? ""
             : " that begins with the key " +
                   yaml::excerpt(std::string(
                       text.substr(quote + 1, std::min<std::size_t>(end - quote - 1, 60))));
}

/// By its contents: a file of either ending may hold an array or lines.
Format json_format(const std::string& path, Format named) {
  const std::string wanted =
      "; an array of objects or an object a line is expected. --format text reads the file as text";
  switch (data::json_layout_of_file(path)) {
    case data::JsonLayout::array: return Format::json;
    case data::JsonLayout::object: {
      const data::MappedFile file(path);
      throw UserError(ExitCode::bad_data, path + " holds one JSON object over several lines" +
                                              first_key(text_of(file)) + wanted);
    }
    case data::JsonLayout::other:
      if (named == Format::jsonl) break;  // told by the line
      throw UserError(ExitCode::bad_data,
                      path + " holds neither a JSON array nor JSON lines" + wanted);
    case data::JsonLayout::empty:
    case data::JsonLayout::lines: break;
  }
  return Format::jsonl;
}

/// Moves slices of a JSON array to where its objects begin.
void align_to_records(const Input& input, const std::vector<Slice*>& slices) {
  const data::MappedFile file(input.path);
  std::size_t next = 1;  // whose beginning is looked for
  const auto begin_at = [&](std::size_t byte, std::int64_t record) {
    slices[next]->begin = slices[next - 1]->end = byte;
    slices[next++]->first_record = record;
  };
  for (data::JsonRecords records(text_of(file), input.path); records.next();)
    while (next < slices.size() && slices[next]->begin <= records.begin())
      begin_at(records.begin(), records.number());
  while (next < slices.size()) begin_at(file.bytes().size(), 0);  // behind the last object: empty
}

}  // namespace

Format format_of(const std::string& given) {
  std::vector<std::string> known;
  for (const auto& [name, format] : formats) {
    if (given == name) return format;
    known.emplace_back(name);
  }
  throw UserError(ExitCode::usage,
                  "--format is text, jsonl, json, csv, tsv, parquet or arrow, not " +
                      yaml::excerpt(given) + did_you_mean(given, known));
}

std::vector<Input> find_inputs(const std::vector<std::string>& paths, const std::string& format) {
  std::vector<Input> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error))
      throw UserError(ExitCode::input_missing,
                      "there is no " + yaml::excerpt(path) + " to take text from");
    for (const std::string& file :
         fs::is_directory(path, error) ? files_in(path) : std::vector{path}) {
      if (!fs::is_regular_file(file, error))
        throw UserError(ExitCode::bad_data, file + " is no regular file: name a file of data");
      const auto bytes = static_cast<std::int64_t>(fs::file_size(file, error));
      const auto changed = error ? fs::file_time_type() : fs::last_write_time(file, error);
      if (error)
        throw UserError(ExitCode::input_missing, "cannot read " + file + ": " + error.message());
      Format found = format.empty() ? format_by_ending(file) : format_of(format);
      const data::MappedFile mapped(file);
      if (data::tables::is_table(mapped.bytes(), file))
        found = Format::table;
      else if (found == Format::table)
        throw UserError(ExitCode::bad_data, file + " is neither a Parquet nor an Arrow file");
      else
        data::refuse_foreign(mapped);
      if (found == Format::json || found == Format::jsonl) found = json_format(file, found);
      out.push_back({file, found, bytes, changed.time_since_epoch().count()});
    }
  }
  return out;
}

std::vector<Part> cut_into_parts(const std::vector<Input>& inputs) {
  constexpr std::size_t smallest = std::size_t{256} << 10, largest = std::size_t{16} << 20,
                        wanted_parts = 64;
  std::size_t total = 0;
  for (const Input& input : inputs) total += static_cast<std::size_t>(input.bytes);
  const std::size_t part_bytes = std::clamp(total / wanted_parts, smallest, largest);
  std::vector<Part> parts;
  std::size_t room = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(inputs[i].bytes);
    for (std::size_t begin = 0; begin == 0 || begin < bytes;) {
      if (room == 0) {
        parts.emplace_back();
        room = part_bytes;
      }
      const std::size_t taken = std::min(room, bytes - begin);
      parts.back().push_back({i, begin, begin + taken});
      room -= taken;
      begin += std::max<std::size_t>(taken, 1);
    }
  }
  std::vector<std::vector<Slice*>> of_arrays(inputs.size());
  for (Part& part : parts)
    for (Slice& slice : part)
      if (inputs[slice.input].format == Format::json) of_arrays[slice.input].push_back(&slice);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!of_arrays[i].empty()) align_to_records(inputs[i], of_arrays[i]);
  return parts;
}

}  // namespace trainx::corpus
