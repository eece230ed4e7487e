#include "doctor/disk.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/units.hpp"
#include <algorithm>
#include <filesystem>
#include <sstream>

namespace trainx::doctor {

using namespace facts;
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t measured_bytes = std::int64_t{256} << 20;
constexpr double measured_seconds = 2;  // each way: a slow disk writes less
// a checkpoint of GPT-2 124M with its optimizer's state (1.5 GB) takes 15 s
constexpr double slow_bytes_per_second = 100e6;
constexpr std::int64_t little_bytes = std::int64_t{5} << 30;

/// A mount point's spaces are written as octal: "\040".
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t k) {
      return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7';
    };
    if (text[i] == '\\' && digit(1) && digit(2) && digit(3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string speed_words(double bytes_per_second) {
  return human_bytes(static_cast<std::int64_t>(bytes_per_second)) + "/s";
}

void add_slow(Findings& found, const DiskFacts& facts, const std::optional<double>& speed,
              const std::string& what, const std::string& consequence) {
  if (speed && *speed < slow_bytes_per_second)
    found.push_back({.problem = what + " " + facts.folder + " goes at " + speed_words(*speed) +
                                ", " + consequence,
                     .remedy = "set run.output_dir to a folder on a faster, local disk"});
}

}  // namespace

std::string output_folder(const std::string& working_directory) {
  std::error_code unknown;
  const fs::path outputs = fs::path(working_directory) / "outputs";
  // a broken link is there too
  return fs::symlink_status(outputs, unknown).type() == fs::file_type::not_found ? working_directory
                                                                                 : outputs.string();
}

std::string file_system_of(const std::string& path, const std::string& mountinfo) {
  std::string kind;
  std::size_t longest = 0;
  std::istringstream lines(mountinfo);
  // id parent major:minor root point options [tags ...] - kind source options
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped, point, word;
    if (!(words >> skipped >> skipped >> skipped >> skipped >> point)) continue;
    while (words >> word && word != "-") {}
    if (!(words >> word)) continue;
    point = unescaped(point);
    const bool inside = point == "/" || path == point || path.starts_with(point + "/");
    // of two at one point the later covers the other
    if (inside && point.size() >= longest) longest = point.size(), kind = word;
  }
  return kind;
}

DiskFacts detect_disk(const std::string& folder, const Roots& roots) {
  DiskFacts facts;
  facts.folder = folder;
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error || !fs::is_directory(real, error)) {
    facts.speed.problem = error ? "it cannot be entered: " + error.message() : "it is no folder";
    return facts;
  }
  if (const auto mounts = text_of(roots.proc + "/self/mountinfo", "file_system", facts.unread)) {
    const std::string kind = file_system_of(real.string(), *mounts);
    if (kind.empty())
      facts.unread["file_system"] = roots.proc + "/self/mountinfo has no mount for it";
    else
      facts.file_system = kind;
  }
  try {
    facts.free_bytes = free_disk_bytes(real.string());
  } catch (const UserError& unknown) { facts.unread["free_bytes"] = unknown.what(); }
  // Half of what is free at most: others write there too.
  facts.speed = measure_disk(
      real.string(), std::min(measured_bytes, facts.free_bytes.value_or(measured_bytes) / 2),
      measured_seconds);
  if (facts.speed.writable && !facts.speed.problem.empty())
    facts.unread["speed"] = facts.speed.problem;
  return facts;
}

Findings findings_of(const DiskFacts& facts) {
  Findings found;
  if (!facts.speed.writable || facts.speed.failed) {
    found.push_back(
        {Finding::Weight::error,
         "runs cannot be written to " + facts.folder + ": " + facts.speed.problem,
         "start trainx in a folder that you may write to, or set run.output_dir to one"});
    return found;
  }
  if (facts.free_bytes && *facts.free_bytes < little_bytes)
    found.push_back(
        {.problem = human_bytes(*facts.free_bytes) + " are free below " + facts.folder +
                    ", where a checkpoint of GPT-2 124M takes 1.4 GiB",
         .remedy = "make room (trainx ckpt prune), or set run.output_dir to another disk"});
  if (facts.file_system == "tmpfs" || facts.file_system == "ramfs")
    found.push_back(
        {.problem = facts.folder + " lies in memory (" + *facts.file_system +
                    "), where runs take what training needs and are gone after a restart",
         .remedy = "set run.output_dir to a folder on a disk"});
  add_slow(found, facts, facts.speed.write_bytes_per_second, "writing to",
           "so that checkpoints take long");
  add_slow(found, facts, facts.speed.read_bytes_per_second, "reading from",
           "so that resuming takes long");
  return found;
}

Json to_json(const DiskFacts& facts) {
  Json j{{"folder", facts.folder}, {"writable", facts.speed.writable}};
  put(j, "file_system", facts.file_system);
  put(j, "free_bytes", facts.free_bytes);
  put(j, "write_bytes_per_second", facts.speed.write_bytes_per_second);
  put(j, "read_bytes_per_second", facts.speed.read_bytes_per_second);
  put(j, "direct", facts.speed.direct);
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const DiskFacts& facts) {
  Lines lines{joined({facts.folder, facts.file_system.value_or(""),
                      facts.free_bytes ? human_bytes(*facts.free_bytes) + " free" : "",
                      facts.speed.writable ? "" : "not writable"})};
  const DiskSpeed& s = facts.speed;
  const std::string measured =
      joined({s.write_bytes_per_second ? "writes " + speed_words(*s.write_bytes_per_second) : "",
              s.read_bytes_per_second ? "reads " + speed_words(*s.read_bytes_per_second) : "",
              s.direct ? (*s.direct ? "O_DIRECT works" : "no O_DIRECT") : ""});
  if (!measured.empty()) lines.push_back(measured);
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::doctor
