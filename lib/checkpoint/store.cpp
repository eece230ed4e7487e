#include "checkpoint/checkpoint.hpp"
#include "checkpoint/pending.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint/twice.hpp"
#include "checkpoint/verify.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>

namespace trainx::checkpoint {
namespace {

namespace fs = std::filesystem;

// Removes all of `checkpoints` (sorted by step) that are neither among the newest `keep` counted
// ones nor linked to.
template <class Counts>
std::vector<std::string> remove_older(const std::string& folder,
                                      const std::vector<Found>& checkpoints, std::int64_t keep,
                                      const Counts& counts) {
  const std::set<std::string> linked{target_of_link(folder, "best"),
                                     target_of_link(folder, "latest")};
  std::vector<std::string> removed;
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    const std::string name = checkpoint_name(it->step);
    if (keep > 0) {
      if (counts(*it)) --keep;
    } else if (!linked.count(name)) {
      remove_checkpoint(folder, name);
      removed.push_back(it->path);
    }
  }
  std::reverse(removed.begin(), removed.end());
  return removed;
}

}  // namespace

Store::Store(std::string run_folder) : folder_(std::move(run_folder)) {}

std::string Store::save(std::int64_t step, const Contents& contents, std::int64_t keep_last,
                        bool is_best) {
  std::optional<Pending> pending;
  twice([&] {
    pending.reset();
    pending.emplace(folder_, step);
    pending->write(contents);
  });
  return finish(*pending, keep_last, is_best);
}

std::string Store::finish(Pending& pending, std::int64_t keep_last, bool is_best) {
  if (keep_last < 1) throw InternalError("a checkpoint, keeping " + std::to_string(keep_last));
  const std::string name = twice([&] { return pending.put_in_place(); });
  twice([&] { point_link(folder_, "latest", name); });
  if (is_best) twice([&] { point_link(folder_, "best", name); });
  // What was just written is sound; checking the others would read all of them at every save.
  twice([&] { remove_older(folder_, list(), keep_last, [](const Found&) { return true; }); });
  return folder_ + "/" + name;
}

std::vector<Found> Store::list() const {
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const auto step = step_of(it->path().filename().string());
    std::error_code unreadable;
    if (step && it->is_directory(unreadable) && !it->is_symlink(unreadable))
      found.push_back({it->path().string(), *step});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw UserError(ExitCode::io_error,
                    "folder " + folder_ + " cannot be listed: " + errno_words(error.value()));
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.step < b.step; });
  return found;
}

Found Store::newest_valid(std::vector<Skipped>* skipped) const {
  const auto checkpoints = list();
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    const std::string why = verify(it->path);
    if (why.empty()) return *it;
    if (skipped) skipped->push_back({it->path, why});
  }
  return {};
}

std::string Store::verify(const std::string& checkpoint_path) const {
  return problem_of_folder(checkpoint_path);
}

void Store::mend(const Found& newest, std::int64_t best_step) const {
  remove_leftovers(folder_);
  const auto point = [&](const char* link, std::int64_t step) {
    if (const std::string name = checkpoint_name(step); target_of_link(folder_, link) != name)
      point_link(folder_, link, name);
  };
  point("latest", newest.step);
  if (fs::is_directory(folder_ + "/" + checkpoint_name(best_step))) point("best", best_step);
}

std::vector<std::string> Store::prune(std::int64_t keep_last) {
  if (keep_last < 1) throw InternalError("a run keeps at least its newest checkpoint");
  // Only sound ones count, so that pruning never leaves a run with damaged checkpoints alone.
  return remove_older(folder_, list(), keep_last,
                      [this](const Found& f) { return verify(f.path).empty(); });
}

}  // namespace trainx::checkpoint
