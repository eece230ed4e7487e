#include "core/error.hpp"
#include "core/process.hpp"
#include "facts/cache.hpp"
#include "facts/disk_speed.hpp"
#include "facts/facts.hpp"
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <algorithm>
#include <filesystem>

namespace trainx::facts {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t measured_bytes = std::int64_t{256} << 20;
constexpr double disk_seconds = 1;  // each way

/// The folder, or the one above it that is there.
std::string existing(const std::string& folder) {
  fs::path path = fs::absolute(folder);
  std::error_code unknown;
  while (!fs::is_directory(path, unknown) && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

/// Kept for each disk of this machine: measuring takes seconds.
double speed_of(const std::string& folder, std::int64_t free_bytes) {
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0) return 0;
  const std::string disk = std::to_string(about.st_dev) + " " + folder;
  try {
    return std::stod(remembered_answer("disks.json", host_name(), disk, [&] {
      const DiskSpeed speed =
          measure_disk(folder, std::min(measured_bytes, free_bytes / 2), disk_seconds);
      if (!speed.read_bytes_per_second || !speed.write_bytes_per_second)
        throw UserError(ExitCode::io_error, speed.problem);
      return std::to_string(2 /
                            (1 / *speed.read_bytes_per_second + 1 / *speed.write_bytes_per_second));
    }));
  } catch (const UserError&) {
    // nothing is kept of it: whoever writes there is told why that fails
    return 0;
  }
}

}  // namespace

std::string offload_folder_of(const recipe::Recipe& recipe) {
  return recipe.memory.optimizer_offload.folder.value_or(recipe.run.output_dir + "/" +
                                                         recipe.run.name);
}

OffloadFolderFacts look_at_offload_folder(const std::string& folder, bool measures_speed) {
  OffloadFolderFacts facts{folder, std::nullopt, 0};
  const std::string there = existing(folder);
  struct statvfs disk {};
  if (::statvfs(there.c_str(), &disk) == 0 && disk.f_blocks > 0)
    facts.free_bytes = static_cast<std::int64_t>(disk.f_bavail) *
                       static_cast<std::int64_t>(disk.f_frsize);
  if (measures_speed)
    facts.bytes_per_s = speed_of(there, facts.free_bytes.value_or(measured_bytes));
  return facts;
}

}  // namespace trainx::facts
