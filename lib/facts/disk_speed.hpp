#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace trainx::facts {

struct DiskSpeed {
  std::optional<double> write_bytes_per_second;  // to the disk, not to the page cache
  std::optional<double> read_bytes_per_second;   // from it
  std::optional<bool> direct;                    // O_DIRECT works
  bool writable = false;                         // a file can be made there
  bool failed = false;                           // the disk refused to write or to read
  std::string problem;                           // why something above is missing
};

/// Writes a file of `bytes` into `folder` and reads it back, each for at most `seconds`. The file
/// has no name, so that nothing is left of it however this process ends. Never throws for what the
/// disk does.
DiskSpeed measure_disk(const std::string& folder, std::int64_t bytes, double seconds);

}  // namespace trainx::facts
