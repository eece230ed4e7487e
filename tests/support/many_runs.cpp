// Commands of trainx as forks of one process that has loaded LibTorch; so are their workers, unless
// TRAINX_WORKER names another.
#include "support/command_server.hpp"
#include "trainx/worker_main.hpp"
#include "launch/worker_process.hpp"

int main(int argc, char** argv) {
  trainx::launch::start_workers_as_forks(trainx::worker_main);
  return trainx::tests::serve_commands(argc, argv);
}
