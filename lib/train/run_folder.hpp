// outputs/<name>/: held by one process at a time, tells what was asked for and refuses a recipe
// that would make it another run.
#pragma once
#include "core/files.hpp"
#include "recipe/recipe.hpp"
#include <map>
#include <optional>

namespace trainx::train {

class RunFolder {
 public:
  /// Makes and locks the folder. Throws UserError 73.
  explicit RunFolder(std::string path);
  /// Removes a folder that this object made, unless something was written into it.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file that says what the run is.
  void write(const std::string& name, std::string text);
  /// Whether `path` still is the folder that this object holds: not after somebody removed or
  /// renamed it.
  bool is_there() const { return lock_->holds(path_); }
  /// Where it is not: makes it again, with all that `write` wrote. Throws UserError 73 where
  /// another process has begun a run there.
  void make_again();

  /// Removes all that an earlier run left. Throws UserError 73 where the folder has files and none
  /// of them is a run's.
  void clear();

  /// The differences between the run's resolved recipe and this one, as "key: old -> new"; empty
  /// for a new run or an equal recipe.
  std::vector<std::string> differences(const recipe::Recipe& recipe) const;
  /// Throws UserError 78 listing the differences that need --fork: those in model, data, batch,
  /// precision, optimizer and run.seed.
  void require_same_run(const recipe::Recipe& recipe) const;

 private:
  std::string path_;
  bool made_here_;  // before the lock, which makes the folder
  std::optional<FolderLock> lock_;
  std::map<std::string, std::string> written_;
};

}  // namespace trainx::train
