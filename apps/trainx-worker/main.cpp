// trainx-worker: computes for one rank. Started by trainx, which hands it a job; users never start
// it themselves.
#include "trainx/worker_main.hpp"
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const int code = trainx::worker_main(argc, argv);
  // LibTorch takes a fifth of a second to take its registry of operators apart; the kernel does not
  std::fflush(nullptr);
  std::_Exit(code);
}
