#include "data/files/dataset_folder.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

namespace trainx::data {
namespace {

namespace fs = std::filesystem;

/// The words that datasets knows for each split.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> words{{
    {"train", "train"},
    {"training", "train"},
    {"validation", "validation"},
    {"valid", "validation"},
    {"val", "validation"},
    {"dev", "validation"},
    {"test", "test"},
    {"testing", "test"},
    {"eval", "test"},
    {"evaluation", "test"},
}};

std::string_view split_of_word(std::string_view word) {
  const auto found =
      std::ranges::find(words, word, &std::pair<std::string_view, std::string_view>::first);
  return found == words.end() ? std::string_view() : found->second;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// NAME-00000-of-00002, as sharded files are called.
bool is_shard(const std::string& path) {
  const std::string stem = fs::path(path).stem().string();
  const std::size_t of = stem.find("-of-");
  const auto digits = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (of == std::string::npos || of < 6) return false;
  const std::size_t end = std::min(stem.find_first_of("-.", of + 4), stem.size());
  return digits(stem.substr(of - 5, 5)) && digits(stem.substr(of + 4, end - of - 4));
}

std::vector<std::string> all_files(const std::string& folder) {
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
                    "cannot read the folder " + folder + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

/// Without what save_to_disk writes beside its data.
void leave_out_side_files(std::vector<std::string>& files) {
  std::set<std::string> saved;  // folders that it wrote
  for (const std::string& file : files)
    if (fs::path(file).filename() == "state.json" ||
        fs::path(file).filename() == "dataset_dict.json")
      saved.insert(fs::path(file).parent_path().string());
  std::erase_if(files, [&](const std::string& file) {
    const std::string name = fs::path(file).filename().string();
    return saved.contains(fs::path(file).parent_path().string()) &&
           (name == "state.json" || name == "dataset_info.json" || name == "dataset_dict.json");
  });
}

struct SplitFiles {
  std::vector<std::string> all;
  std::map<std::string, std::vector<std::string>> splits;  // "": of files that name none
  // several, or shards of one: otherwise a word in a name is a word
  bool has_splits = false;
};

SplitFiles look_at(const std::string& folder) {
  SplitFiles out;
  out.all = all_files(folder);
  leave_out_side_files(out.all);
  if (out.all.empty())
    throw UserError(ExitCode::bad_data, "the folder " + folder + " has no files");
  for (const std::string& file : out.all)
    out.splits[split_of(fs::path(file).lexically_relative(folder).string())].push_back(file);
  const std::size_t named = out.splits.size() - (out.splits.contains("") ? 1 : 0);
  out.has_splits = named > 1 ||
                   (named == 1 && std::ranges::all_of(out.splits.rbegin()->second, is_shard));
  return out;
}

std::string counts_of(const std::map<std::string, std::vector<std::string>>& splits,
                      const std::string& but) {
  std::string text;
  for (const auto& [split, files] : splits) {
    if (split == but) continue;
    const std::string name = split.empty() ? "files of no split" : split;
    text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(files.size()) + ")";
  }
  return text;
}

}  // namespace

std::string split_of(const std::string& path) {
  std::string found;
  for (std::size_t at = 0; at < path.size();) {
    if (!is_letter(path[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < path.size() && is_letter(path[end])) ++end;
    std::string word = path.substr(at, end - at);
    std::ranges::transform(word, word.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    if (const auto split = split_of_word(word); !split.empty() && found.empty()) found = split;
    at = end;
  }
  return found;
}

std::string split_named(const std::string& word) {
  const auto split = split_of_word(word);
  if (split.empty())
    throw UserError(ExitCode::usage, "--split is train, validation or test, not '" + word + "'");
  return std::string(split);
}

FolderFiles files_of_folder(const std::string& folder, const std::string& wanted) {
  SplitFiles found = look_at(folder);
  if (wanted.empty() && !found.has_splits) return {std::move(found.all), ""};
  const std::string split = wanted.empty() ? "train" : wanted;
  const auto files = found.splits.find(split);
  if (files == found.splits.end())
    throw UserError(ExitCode::input_missing, "the folder " + folder + " has no split " + split +
                                                 "; it has " + counts_of(found.splits, "") +
                                                 ": name one with --split");
  if (found.splits.size() == 1) return {files->second, ""};
  return {files->second, folder + ": read its split " + split + " (" +
                             std::to_string(files->second.size()) + "), left out " +
                             counts_of(found.splits, split) + "; --split chooses"};
}

std::vector<std::string> files_of_split(const std::string& folder, bool held_out) {
  if (!look_at(folder).has_splits) return {};
  const bool tests = held_out && !look_at(folder).splits.contains("validation");
  return files_of_folder(folder, !held_out ? "train" : tests ? "test" : "validation").paths;
}

}  // namespace trainx::data
