#include "checkpoint/run_folder.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/partial_name.hpp"
#include "core/restarted.hpp"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <filesystem>

namespace trainx::checkpoint {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view prefix = "checkpoint-";

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw UserError(ExitCode::io_error, path + " cannot be " + what + ": " + errno_words(error));
}

void move(const std::string& from, const std::string& to) {
  if (restarted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0)
    fail(to, "put in place", errno);
}

void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail(path, "removed", error.value());
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return std::string(prefix) + std::to_string(step);
}

std::optional<std::int64_t> step_of(const std::string& name) {
  if (name.rfind(prefix, 0) != 0) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc{} || stopped != end || step < 0 || checkpoint_name(step) != name)
    return std::nullopt;
  return step;
}

void remove_leftovers(const std::string& folder) {
  std::vector<std::string> leftovers;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto partial = partial_from(it->path().filename().string());
    if (partial && (step_of(partial->of) || partial->of == "latest" || partial->of == "best"))
      leftovers.push_back(it->path().string());
  }
  if (error) fail(folder, "listed", error.value());
  for (const std::string& path : leftovers) remove_tree(path);
}

void put_in_place(const std::string& folder, const std::string& partial, const std::string& name) {
  const std::string from = folder + "/" + partial, to = folder + "/" + name;
  if (!fs::exists(fs::symlink_status(to))) {
    move(from, to);
  } else if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    remove_tree(from);  // the older one, which now has the partial name
  } else if (errno == EINVAL || errno == ENOSYS) {
    // A file system that cannot exchange: between the two renames there is no checkpoint of this
    // step, only the older ones.
    const std::string older = folder + "/" + partial_name(name) + "-older";
    move(to, older);
    move(from, to);
    remove_tree(older);
  } else {
    fail(to, "put in place", errno);
  }
  fsync_folder(folder);
}

void point_link(const std::string& folder, const std::string& link, const std::string& name) {
  const std::string aside = folder + "/" + partial_name(link);
  ::unlink(aside.c_str());
  if (restarted([&] { return ::symlink(name.c_str(), aside.c_str()); }) != 0)
    fail(folder + "/" + link, "made", errno);
  move(aside, folder + "/" + link);
  fsync_folder(folder);
}

std::string target_of_link(const std::string& folder, const std::string& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(folder + "/" + link, error);
  return error ? std::string() : target.filename().string();
}

void remove_checkpoint(const std::string& folder, const std::string& name) {
  const std::string partial = folder + "/" + partial_name(name);
  remove_tree(partial);
  move(folder + "/" + name, partial);
  remove_tree(partial);
}

}  // namespace trainx::checkpoint
