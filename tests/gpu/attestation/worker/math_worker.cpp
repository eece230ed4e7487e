// A worker whose attention is computed by math. What a user sees of a trainx that does something
// else than it planned: `trainx --worker PATH train ...` ends with 79.
#include "gpu/attestation/math_attention.hpp"
#include "trainx/worker_main.hpp"

int main(int argc, char** argv) {
  trainx::model::set_block_factory([](auto composition, std::size_t index, std::int64_t batch) {
    return std::make_unique<trainx::train::test::MathAttention>(composition, index, batch);
  });
  return trainx::worker_main(argc, argv);
}
