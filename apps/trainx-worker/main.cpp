// trainx-worker: computes for one rank. Started by trainx, which hands it a job; users never start
// it themselves.
#include "trainx/worker_main.hpp"

int main(int argc, char** argv) { return trainx::worker_main(argc, argv); }
