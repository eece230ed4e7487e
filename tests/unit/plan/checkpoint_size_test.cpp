#include "plan/checkpoint_size.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <cmath>

namespace checkpoint_size_test {

using namespace trainx;

TEST_CASE("a checkpoint of AdamW takes 12 bytes a parameter, whatever computes") {
  for (const char* more : {"", "precision: bf16\n", "memory: {optimizer_offload: cpu}\n",
                           "parallel: {world_size: 2, mode: zero3}\n"}) {
    const auto size = plan::checkpoint_size(planned(gpt2_recipe(more), {}));
    CHECK(std::abs(static_cast<double>(size.each_bytes) / (12.0 * 124439808) - 1) < 0.01);
    CHECK(size.most == 4);  // two kept, best, one being written
    CHECK(size.most_bytes() == 4 * size.each_bytes);
  }
  CHECK(plan::checkpoint_size(planned(gpt2_recipe("checkpoint: {keep_last: 5}\n"), {})).most == 7);
}

TEST_CASE(
    "a disk that has no room for the first checkpoint is refused, one for the first alone warned "
    "of") {
  const plan::CheckpointSize size{100, 4};
  CHECK_FALSE(plan::disk_room(size, 0, 99, "outputs").refusal.empty());
  CHECK(plan::disk_room(size, 0, 100, "outputs").refusal.empty());
  CHECK_FALSE(plan::disk_room(size, 0, 399, "outputs").warning.empty());
  CHECK(plan::disk_room(size, 0, 400, "outputs").warning.empty());
  // what is kept makes room when it is pruned
  CHECK(plan::disk_room(size, 300, 100, "outputs").warning.empty());
  CHECK_FALSE(plan::disk_room(size, 300, 99, "outputs").refusal.empty());
}

}  // namespace checkpoint_size_test
