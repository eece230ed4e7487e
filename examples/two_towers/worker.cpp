#include "towers.hpp"

int main(int argc, char** argv) {
  trainx::add_model<TowerOptions>(
      "towers", "two towers for retrieval, the example of own fields and tied weights",
      build_towers);
  return trainx::worker_main(argc, argv);
}
