// How a command line asks for workers.
#pragma once
#include <optional>
#include <string>

namespace trainx::launch {

struct LaunchFlags {
  static constexpr int automatic = 0;
  // a larger number is a slip of the keyboard
  static constexpr int most_workers = 1024, most_hosts = 65536, most_restarts = 1000000;
  // workers on this host; automatic: one per visible GPU, one on a CPU
  std::optional<int> nproc_per_node;
  std::optional<int> nnodes;               // hosts; trainx is started once on each
  std::optional<int> node_rank;            // which of them this is, from 0
  std::optional<std::string> master_addr;  // host 0, as the others reach it
  std::optional<int> master_port;          // that rank 0 listens at
  std::optional<int> max_restarts;         // of all workers, after failures that are not the user's
  std::optional<std::string> secret_file;  // by which ranks of several launchers know each other

  /// trainx is to start the workers itself, whatever the environment says.
  bool ask_for_workers() const {
    return nproc_per_node || nnodes || node_rank || master_addr || master_port;
  }
};

}  // namespace trainx::launch
