#pragma once
#include "facts/disk_speed.hpp"
#include "facts/finding.hpp"
#include "facts/lines.hpp"
#include "facts/roots.hpp"
#include "facts/section_json.hpp"
#include <cstdint>

namespace trainx::doctor {

using namespace facts;

/// Of the folder where runs are written.
struct DiskFacts {
  std::string folder;
  std::optional<std::string> file_system;  // "ext4", "nfs4", ...
  std::optional<std::int64_t> free_bytes;  // for an unprivileged user
  DiskSpeed speed;
  Unread unread;
};

/// `outputs` below the working directory where there is one, else the working directory.
std::string output_folder(const std::string& working_directory);
DiskFacts detect_disk(const std::string& folder, const Roots& roots);
Findings findings_of(const DiskFacts& facts);
Json to_json(const DiskFacts& facts);
Lines describe(const DiskFacts& facts);

/// The kind of file system that holds `path`, an absolute one, as /proc/self/mountinfo tells; empty
/// where it does not.
std::string file_system_of(const std::string& path, const std::string& mountinfo);

}  // namespace trainx::doctor
