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
  const std::string longer = "run: {duration: 100000 steps}\ncheckpoint: {keep_last: 5}\n";
  CHECK(plan::checkpoint_size(planned(gpt2_recipe(longer), {})).most == 7);
}

TEST_CASE("a run never keeps more checkpoints than it writes") {
  const auto most = [](const std::string& duration, const std::string& more) {
    return plan::checkpoint_size(
        planned(gpt2_recipe("run: {duration: " + duration + "}\n" + more), {}));
  };
  const std::string all = "checkpoint: {keep_last: 1000000, every: 10 steps}\n";
  // 10, 20, 25; each of the evaluations at 20 and 25 may be the best
  const auto some = most("25 steps", all + "eval: {every: 20 steps}\n");
  CHECK(some.most == 5);
  CHECK(some.is_all_written);
  CHECK(most("1 steps", all).most == 1);
  // one at the end, one more if the evaluation there is counted apart
  CHECK(most("4 steps", "checkpoint: {keep_last: 1000000}\n").most == 2);
  const auto pruned = most("1000 steps", "checkpoint: {keep_last: 2, every: 10 steps}\n");
  CHECK(pruned.most == 4);
  CHECK_FALSE(pruned.is_all_written);
  // a duration in time has as many steps as fit
  CHECK(most("1 h", "checkpoint: {keep_last: 5}\n").most == 7);
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
