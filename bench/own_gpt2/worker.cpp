#include "bench/own_gpt2/own_gpt2.hpp"

int main(int argc, char** argv) {
  trainx::add_model<OwnGpt2Options>("own_gpt2", "GPT-2 of torch::nn modules", build_own_gpt2);
  return trainx::worker_main(argc, argv);
}
