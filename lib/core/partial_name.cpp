#include "core/partial_name.hpp"
#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace trainx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = ".partial-";

/// Not one that has ended and that nobody has asked after.
bool lives(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return false;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;  // "PID (name) STATE ..."; a name may hold anything
  std::getline(file, stat);
  const auto name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat.compare(name_end, 3, ") Z") != 0;
}

}  // namespace

std::string partial_name(const std::string& name) {
  return "." + name + std::string(mark) + std::to_string(::getpid());
}

std::optional<PartialName> partial_from(const std::string& name) {
  const auto at = name.rfind(mark);
  if (at == std::string::npos || at < 2 || name.front() != '.') return std::nullopt;
  PartialName found{name.substr(1, at - 1), 0};
  const char *begin = name.data() + at + mark.size(), *end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(begin, end, found.writer);
  if (error != std::errc{} || found.writer <= 0 || (stopped != end && *stopped != '-'))
    return std::nullopt;
  return found;
}

void remove_partial_files(const std::string& folder) {
  std::error_code ignored;
  std::vector<fs::path> dead;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const auto partial = partial_from(it->path().filename().string());
    std::error_code unknown;
    if (partial && !lives(partial->writer) &&
        it->symlink_status(unknown).type() == fs::file_type::regular)
      dead.push_back(it->path());
  }
  for (const fs::path& path : dead) fs::remove(path, ignored);
}

}  // namespace trainx
