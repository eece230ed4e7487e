// outputs/<name>/: held by one process at a time, tells what was asked for and refuses a recipe
// that would make it another run.
#pragma once
#include "core/files.hpp"
#include "recipe/recipe.hpp"
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
  FolderLock lock_;
};

}  // namespace trainx::train
