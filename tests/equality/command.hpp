// Commands of trainx in forks of a process that has loaded LibTorch.
#pragma once
#include <string>
#include <vector>

namespace trainx::equality {

struct Ended {
  int code = 0;          // of the exit; 128 + the signal that ended it
  std::string out, err;  // what it wrote
  double seconds = 0;
};

/// Runs `trainx ARGUMENTS...` in a folder; one that takes longer than `limit_s` is killed. The
/// calling process has one thread.
Ended run_command(const std::string& folder, const std::vector<std::string>& arguments,
                  double limit_s);

}  // namespace trainx::equality
