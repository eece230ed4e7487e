#include "corpus/inputs.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::corpus {
namespace {

namespace fs = std::filesystem;
constexpr std::pair<const char*, Format> formats[] = {{"text", Format::text}, {"jsonl", Format::jsonl}, {"csv", Format::csv}, {"tsv", Format::tsv}};

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
    if (at->path().filename().string().starts_with('.')) at.disable_recursion_pending();
    else if (at->is_regular_file(error)) files.push_back(at->path().string());
  }
  if (error) throw UserError(ExitCode::input_missing, "cannot read the folder " + yaml::excerpt(folder) + ": " + error.message());
  if (files.empty()) throw UserError(ExitCode::bad_data, "the folder " + yaml::excerpt(folder) + " has no files");
  std::ranges::sort(files);
  return files;
}

}  // namespace

Format format_of(const std::string& given) {
  std::vector<std::string> known;
  for (const auto& [name, format] : formats) {
    if (given == name) return format;
    known.emplace_back(name);
  }
  throw UserError(ExitCode::usage, "--format is text, jsonl, csv or tsv, not " + yaml::excerpt(given) + did_you_mean(given, known));
}

std::vector<Input> find_inputs(const std::vector<std::string>& paths, const std::string& format) {
  std::vector<Input> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) throw UserError(ExitCode::input_missing, "there is no " + yaml::excerpt(path) + " to take text from");
    for (const std::string& file : fs::is_directory(path, error) ? files_in(path) : std::vector{path}) {
      if (!fs::is_regular_file(file, error)) throw UserError(ExitCode::bad_data, file + " is no regular file: name a file of data");
      const auto bytes = static_cast<std::int64_t>(fs::file_size(file, error));
      const auto changed = error ? fs::file_time_type() : fs::last_write_time(file, error);
      if (error) throw UserError(ExitCode::input_missing, "cannot read " + file + ": " + error.message());
      out.push_back({file, format.empty() ? format_by_ending(file) : format_of(format), bytes, changed.time_since_epoch().count()});
    }
  }
  return out;
}

std::vector<Part> cut_into_parts(const std::vector<Input>& inputs) {
  constexpr std::size_t smallest = std::size_t{256} << 10, largest = std::size_t{16} << 20, wanted_parts = 64;
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
  return parts;
}

}  // namespace trainx::corpus
