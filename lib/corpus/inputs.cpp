#include "corpus/inputs.hpp"
#include "core/error.hpp"
#include "core/refusals.hpp"
#include "core/suggest.hpp"
#include "data/csv_records.hpp"
#include "data/files/dataset_folder.hpp"
#include "data/foreign_file.hpp"
#include "data/json_records.hpp"
#include "data/packed_file.hpp"
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
  const std::string ending = fs::path(data::without_packing(path.string())).extension().string();
  if (ending == ".tab") return Format::tsv;
  for (const auto& [name, format] : formats)
    if (ending == std::string(".") + name) return format;
  return Format::text;
}

std::string_view text_of(const data::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
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
Format json_format(const data::MappedFile& file, Format named) {
  constexpr std::size_t looked_at = std::size_t{1} << 20;
  const std::string& path = file.path();
  const std::string wanted =
      "; an array of objects or an object a line is expected. --format text reads the file as text";
  switch (data::json_layout(text_of(file).substr(0, looked_at))) {
    case data::JsonLayout::array: return Format::json;
    case data::JsonLayout::object:
      throw UserError(ExitCode::bad_data, path + " holds one JSON object over several lines" +
                                              first_key(text_of(file)) + wanted);
    case data::JsonLayout::other:
      if (named == Format::jsonl) break;  // told by the line
      throw UserError(ExitCode::bad_data,
                      path + " holds neither a JSON array nor JSON lines" + wanted);
    case data::JsonLayout::empty:
    case data::JsonLayout::lines: break;
  }
  return Format::jsonl;
}

/// Moves the slices of a file to where its records begin.
class SliceCuts {
 public:
  explicit SliceCuts(const std::vector<Slice*>& slices) : slices_(slices) {}
  void record(std::size_t begin, std::int64_t number) {
    while (next_ < slices_.size() && slices_[next_]->begin <= begin) begin_at(begin, number);
  }
  /// Behind the last record slices are empty.
  void end(std::size_t bytes) {
    while (next_ < slices_.size()) begin_at(bytes, 0);
    slices_.back()->end = std::min(slices_.back()->end, bytes);
  }

 private:
  void begin_at(std::size_t byte, std::int64_t number) {
    slices_[next_]->begin = slices_[next_ - 1]->end = byte;
    slices_[next_++]->first_record = number;
  }

  const std::vector<Slice*>& slices_;
  std::size_t next_ = 1;  // whose beginning is looked for
};

/// Moves slices of a JSON array to where its objects begin.
void align_to_records(const Input& input, const std::vector<Slice*>& slices) {
  const data::MappedFile file = open_input(input);
  SliceCuts cuts(slices);
  for (data::JsonRecords records(text_of(file), input.path); records.next();)
    cuts.record(records.begin(), records.number());
  cuts.end(file.bytes().size());
}

/// The same of csv, to where its records begin.
void align_to_csv(const Input& input, const std::vector<Slice*>& slices) {
  const data::MappedFile file = open_input(input);
  const std::string_view text = without_mark(text_of(file));
  SliceCuts cuts(slices);
  for (data::CsvRecords records(text, ','); records.next();)
    cuts.record(records.begin(), records.line());
  cuts.end(text.size());
}

data::FolderFiles files_named(const std::string& path, const std::string& split) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw UserError(ExitCode::input_missing,
                    "there is no " + yaml::excerpt(path) + " to take text from");
  if (fs::is_directory(path, error)) return data::files_of_folder(path, split);
  return {{path}, ""};
}

Input look_at(const std::string& file, const std::string& format) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw UserError(ExitCode::bad_data, file + " is no regular file: name a file of data");
  const auto changed = fs::last_write_time(file, error);
  if (error)
    throw UserError(ExitCode::input_missing, "cannot read " + file + ": " + error.message());
  Format found = format.empty() ? format_by_ending(file) : format_of(format);
  data::MappedFile mapped = data::open_unpacked(file);
  const bool packed = mapped.is_unpacked();
  if (!packed && data::tables::is_table(mapped.bytes(), file)) {
    data::tables::require_library(file);
    found = Format::table;
  } else if (found == Format::table) {
    throw UserError(ExitCode::bad_data, file + " is neither a Parquet nor an Arrow file");
  } else {
    data::refuse_foreign(mapped);
  }
  if (found == Format::json || found == Format::jsonl) found = json_format(mapped, found);
  Input input{file, found, static_cast<std::int64_t>(mapped.bytes().size()),
              changed.time_since_epoch().count()};
  if (packed) input.unpacked = std::make_shared<const data::MappedFile>(std::move(mapped));
  return input;
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

std::vector<Input> find_inputs(const std::vector<std::string>& paths, const InputChoice& choice,
                               std::vector<std::string>* notes) {
  if (!choice.format.empty()) format_of(choice.format);
  std::vector<Input> out;
  Refusals refusals;
  for (const std::string& path : paths)
    refusals.collect([&] {
      const data::FolderFiles files = files_named(path, choice.split);
      if (notes && !files.note.empty()) notes->push_back(files.note);
      for (const std::string& file : files.paths)
        refusals.collect([&] { out.push_back(look_at(file, choice.format)); });
    });
  refusals.throw_all();
  return out;
}

data::MappedFile open_input(const Input& input) {
  return input.unpacked ? data::MappedFile(input.path, input.unpacked->bytes())
                        : data::MappedFile(input.path);
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
  std::vector<std::vector<Slice*>> of_records(inputs.size());
  const auto has_records = [](Format f) { return f == Format::json || f == Format::csv; };
  for (Part& part : parts)
    for (Slice& slice : part)
      if (has_records(inputs[slice.input].format)) of_records[slice.input].push_back(&slice);
  Refusals refusals;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (of_records[i].empty()) continue;
    refusals.collect([&] {
      inputs[i].format == Format::json ? align_to_records(inputs[i], of_records[i])
                                       : align_to_csv(inputs[i], of_records[i]);
    });
  }
  refusals.throw_all();
  return parts;
}

}  // namespace trainx::corpus
