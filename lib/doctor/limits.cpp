#include "doctor/limits.hpp"
#include "core/files.hpp"
#include "core/number.hpp"
#include "core/units.hpp"
#include "facts/cgroup.hpp"
#include <sys/statvfs.h>
#include <cerrno>
#include <filesystem>
#include <sstream>

namespace trainx::doctor {

using namespace facts;
namespace {

using Limit = LimitFacts::Limit;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// A line of /proc/self/limits: "Max open files            1024                 524288 files".
std::optional<Limit> limit_of(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name + " ")) continue;
    std::istringstream words(line.substr(name.size()));
    std::string soft, hard;
    if (!(words >> soft >> hard)) return std::nullopt;
    return Limit{parse_integer(soft), parse_integer(hard)};  // "unlimited" is no number
  }
  return std::nullopt;
}

void read_shared_memory(const std::string& folder, LimitFacts& facts) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    facts.unread["shared_memory_bytes"] = folder + " cannot be read: " + errno_words(errno);
    return;
  }
  facts.shared_memory_bytes = static_cast<std::int64_t>(disk.f_blocks) *
                              static_cast<std::int64_t>(disk.f_frsize);
  facts.shared_memory_free_bytes = static_cast<std::int64_t>(disk.f_bavail) *
                                   static_cast<std::int64_t>(disk.f_frsize);
}

Json json_of(const Limit& limit) {
  const auto one = [](const std::optional<std::int64_t>& value) {
    return value ? Json(*value) : Json("unlimited");
  };
  return {{"soft", one(limit.soft)}, {"hard", one(limit.hard)}};
}

}  // namespace

LimitFacts detect_limits(const Roots& roots) {
  LimitFacts facts;
  if (const auto text = text_of(roots.proc + "/self/limits", "open_files", facts.unread)) {
    facts.locked_memory_bytes = limit_of(*text, "Max locked memory");
    facts.open_files = limit_of(*text, "Max open files");
    if (!facts.locked_memory_bytes)
      facts.unread["locked_memory_bytes"] = roots.proc + "/self/limits does not tell it";
    if (!facts.open_files)
      facts.unread["open_files"] = roots.proc + "/self/limits does not tell it";
  }
  read_shared_memory(roots.dev + "/shm", facts);
  const CgroupLimits limits = cgroup_limits(roots.proc, roots.sys);
  facts.processes = limits.processes;
  facts.processes_left = limits.processes_left;
  std::error_code none;
  facts.infiniband = std::filesystem::directory_iterator(roots.sys + "/class/infiniband", none) !=
                     std::filesystem::directory_iterator{};
  return facts;
}

Findings findings_of(const LimitFacts& facts) {
  Findings found;
  const std::string larger =
      "start the container with --shm-size=8g, or mount a larger one (mount -o remount,size=8G "
      "/dev/shm)";
  if (!facts.shared_memory_bytes)
    found.push_back(
        {.problem = "/dev/shm cannot be used, through which ranks on one machine sum (NCCL too)",
         .remedy = "mount it (mount -t tmpfs -o size=8G tmpfs /dev/shm), or in a container use "
                   "--shm-size=8g"});
  else if (*facts.shared_memory_bytes <= 64 * mebibyte)  // Docker's default is 64 MiB
    found.push_back({.problem = "/dev/shm holds " + human_bytes(*facts.shared_memory_bytes) +
                                ", too little for several ranks, which sum through it (NCCL too)",
                     .remedy = larger});
  else if (facts.shared_memory_free_bytes && *facts.shared_memory_free_bytes <= 64 * mebibyte)
    found.push_back(
        {.problem = "/dev/shm is full: " + human_bytes(*facts.shared_memory_free_bytes) + " of " +
                    human_bytes(*facts.shared_memory_bytes) + " are free",
         .remedy = "remove what ended programs left there (ls -l /dev/shm), or " + larger});
  if (facts.open_files && facts.open_files->soft && *facts.open_files->soft < 1024)
    found.push_back(
        {.problem = "a process may have " + std::to_string(*facts.open_files->soft) +
                    " files open, fewer than ranks with their data and connections need",
         .remedy = "raise it: ulimit -n 4096"});
  if (facts.infiniband && facts.locked_memory_bytes && facts.locked_memory_bytes->soft)
    found.push_back(
        {.problem = "a process may lock " + human_bytes(*facts.locked_memory_bytes->soft) +
                    " of memory, and NCCL locks what it sends over this machine's InfiniBand",
         .remedy = "lift the limit: ulimit -l unlimited, docker run --ulimit memlock=-1, or "
                   "memlock in /etc/security/limits.conf"});
  if (facts.processes_left && *facts.processes_left < 256)
    found.push_back(
        {.problem = "the cgroup lets " + std::to_string(*facts.processes_left) +
                    " more threads start, of " + std::to_string(facts.processes.value_or(0)) +
                    "; a rank has dozens",
         .remedy =
             "raise the container's limit (docker run --pids-limit), or end what runs in it"});
  return found;
}

Json to_json(const LimitFacts& facts) {
  Json j = Json::object();
  if (facts.locked_memory_bytes) j["locked_memory_bytes"] = json_of(*facts.locked_memory_bytes);
  if (facts.open_files) j["open_files"] = json_of(*facts.open_files);
  put(j, "shared_memory_bytes", facts.shared_memory_bytes);
  put(j, "shared_memory_free_bytes", facts.shared_memory_free_bytes);
  put(j, "processes", facts.processes);
  put(j, "processes_left", facts.processes_left);
  j["infiniband"] = facts.infiniband;
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const LimitFacts& facts) {
  std::string locked, files;
  if (facts.locked_memory_bytes)
    locked = "locked memory " + (facts.locked_memory_bytes->soft
                                     ? human_bytes(*facts.locked_memory_bytes->soft)
                                     : "unlimited");
  if (facts.open_files)
    files = "open files " +
            (facts.open_files->soft ? std::to_string(*facts.open_files->soft) : "unlimited");
  Lines lines{
      joined({locked, files,
              facts.processes ? counted(*facts.processes, "thread") + " by the cgroup, " +
                                    std::to_string(facts.processes_left.value_or(0)) + " left"
                              : "no cgroup limit of threads"})};
  if (facts.shared_memory_bytes)
    lines.push_back("/dev/shm " + human_bytes(*facts.shared_memory_bytes) + ", " +
                    human_bytes(facts.shared_memory_free_bytes.value_or(0)) + " free");
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::doctor
