// Which of a run's processes this one is, and where they find each other. Decided by the launcher,
// or read from the environment of another one.
#pragma once
#include <string>

namespace trainx::comm {

struct Membership {
  int rank = 0, world_size = 1;
  int local_rank = 0, local_world_size = 1;  // among those on this host
  std::string address = "127.0.0.1";         // of the host of rank 0
  int port = 0;                              // that rank 0 listens at
  // in rank 0: a descriptor that listens there already; -1: rank 0 opens it
  int listener = -1;
  std::string run_id;  // names the run: ranks of two runs do not meet, though they share a secret
  // what the run's processes know and a stranger does not, as hex digits: the key of every proof
  std::string secret;
  // who started them: "trainx", "torchrun", "slurm", "mpi", "flags"
  std::string launcher;
};

}  // namespace trainx::comm
