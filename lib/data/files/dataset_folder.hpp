// Folders as Hugging Face's datasets publishes and saves them: files of several splits.
#pragma once
#include <string>
#include <vector>

namespace trainx::data {

/// The split that a path inside a folder names: train-00000-of-00002.parquet, validation/a.jsonl,
/// my_test.csv; "train", "validation", "test", or empty.
std::string split_of(const std::string& path);
/// The split that a word means: "dev" is validation. Throws UserError 2 for one that means none.
std::string split_named(const std::string& word);

/// What of a folder is read.
struct FolderFiles {
  std::vector<std::string> paths;  // sorted
  std::string note;  // which split was taken and what was left out; empty: all is read
};

/// Files of a folder and its sub-folders without names that begin with a dot. Of a folder with
/// several splits those of `split`, which is train where it is empty; of one that datasets'
/// save_to_disk wrote its Arrow files. Throws UserError: 66 the folder cannot be read, or has no
/// such split; 65 it has no files.
FolderFiles files_of_folder(const std::string& folder, const std::string& split);

/// Of a folder with splits: its training files, or those of its validation split, or without one of
/// its test split. Empty: the folder has no splits. Throws as files_of_folder.
std::vector<std::string> files_of_split(const std::string& folder, bool held_out);

}  // namespace trainx::data
