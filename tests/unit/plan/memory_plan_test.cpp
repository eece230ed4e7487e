#include "plan/memory_plan.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"

namespace memory_plan_test {

using namespace trainx;

namespace {

plan::MemoryPlan memory_of(const std::string& options, const std::string& more) {
  const auto recipe =
      recipe::parse_recipe("model: {type: gpt2, options: {" + options +
                               "}}\ndata: {type: stories, sequence_length: 64}\n"
                               "batch: {global_batch_size: 2, micro_batch_size: 2}\n" +
                               more,
                           "test")
          .recipe;
  return planned(recipe, {.gpu = ""}).memory;
}

std::int64_t bytes_of(const plan::MemoryPlan& memory, const std::string& name) {
  for (const auto& [category, bytes] : memory.categories)
    if (category == name) return bytes;
  return 0;
}

/// Of the optimizer's states on one of so many ranks with parts of layers.
std::int64_t state_bytes(const std::string& optimizer, int tensor) {
  const auto recipe =
      recipe::parse_recipe(
          "model: {type: llama, options: {num_layers: 2, num_heads: 4, num_key_value_heads: 4, "
          "hidden_size: 256, intermediate_size: 512, max_positions: 64, vocab_size: 1024}}\n"
          "data: {type: stories, sequence_length: 64}\n"
          "batch: {global_batch_size: 2, micro_batch_size: 2}\noptimizer: " +
              optimizer + "\nparallel: {world_size: " + std::to_string(tensor) +
              ", tensor: " + std::to_string(tensor) + "}\n",
          "test")
          .recipe;
  std::int64_t bytes = 0;
  const plan::RunPlan plan = planned(recipe, {.gpu = ""});
  for (const program::Buffer& b : plan.role().train.front().program.buffers)
    if (b.role == program::Role::state) bytes += b.bytes();
  return bytes;
}

}  // namespace

TEST_CASE("ranks keep bytes of their parts of tensors, and sums of rows of whole tensors") {
  // norms, which all ranks have, keep 8 bytes an element
  const std::int64_t norms = 5 * 256 * 8, bytes = state_bytes("{type: adamw_8bit}", 1) - norms;
  for (const int ranks : {2, 4})
    CHECK(static_cast<double>(state_bytes("{type: adamw_8bit}", ranks) - norms) ==
          Approx(static_cast<double>(bytes) / ranks).epsilon(0.01));  // scales are aligned
  const std::string sums = "{type: adafactor, options: {relative_step: false}}",
                    first = "{type: adafactor, options: {relative_step: false, beta1: 0.9}}";
  const std::int64_t whole = state_bytes(sums, 1);
  CHECK(whole < bytes / 10);
  for (const int ranks : {2, 4}) {
    CHECK(state_bytes(sums, ranks) == whole);
    const std::int64_t of_norms = 5 * 256 * 4, all = state_bytes(first, 1) - whole - of_norms;
    CHECK(state_bytes(first, ranks) - whole - of_norms == all / ranks);
  }
}

TEST_CASE("texts during training take the weights once more, and keys and values of each layer") {
  const std::string texts = "generate: {every: 10 steps, prompt: Once}\n";
  const auto options = [](int layers) {
    return "num_layers: " + std::to_string(layers) +
           ", num_heads: 2, hidden_size: 64, vocab_size: 100";
  };
  const auto bytes = [&](int layers) {
    return bytes_of(memory_of(options(layers), texts), "texts during training");
  };
  CHECK(bytes_of(memory_of(options(2), ""), "texts during training") == 0);
  CHECK(memory_of(options(2), texts).total_bytes() ==
        memory_of(options(2), "").total_bytes() + bytes(2));
  const std::int64_t layer_weights = 12 * 64 * 64 + 13 * 64, cache = 64 * 3 * 64;
  const std::int64_t weights = 100 * 64 + 64 * 64 + 2 * layer_weights;
  CHECK(bytes(2) > 4 * (weights + 2 * cache));
  CHECK(bytes(2) < 2 * 4 * (weights + 2 * cache));
  CHECK(bytes(5) - bytes(2) == 3 * (bytes(3) - bytes(2)));
  CHECK(bytes(3) - bytes(2) >= 4 * (layer_weights + cache));
  CHECK(bytes(3) - bytes(2) < 4 * (layer_weights + cache) * 11 / 10);
}

}  // namespace memory_plan_test
