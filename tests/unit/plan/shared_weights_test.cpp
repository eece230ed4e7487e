#include "plan/shared_weights.hpp"
#include "plan/memory_plan.hpp"
#include "plan/run_plan.hpp"
#include "program/frozen.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <string>
#include <vector>

namespace shared_weights_test {

using namespace trainx;
using program::Buffer, program::Range, program::Space;

namespace {

/// Of ranks on a host that has `local_ranks` of them.
plan::RunPlan plan_of(const std::string& mode, std::int64_t local_ranks,
                      const std::string& more = "", const std::string& gpu = "") {
  facts::Facts f;
  f.hardware.cpu_cores = local_ranks;  // a thread each
  f.hardware.memory_bytes = std::int64_t{64} << 30;
  f.hardware.local_ranks = local_ranks;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  const std::string recipe =
      "model: {type: gpt2, size: 124m, adapter: {type: lora, rank: 4}}\n"
      "data: {type: stories, sequence_length: 64}\n"
      "batch: {global_batch_size: 8, micro_batch_size: 2}\n"
      "parallel: {world_size: " +
      std::to_string(mode == "single" ? 1 : 4) + (mode == "single" ? "" : ", mode: " + mode) +
      "}\n" + more;
  return plan::make_run_plan(recipe::parse_recipe(recipe, "test").recipe, f, {.gpu = gpu});
}

/// Of buffers that are worth a page.
std::int64_t frozen_bytes(const plan::PlacedProgram& placed) {
  std::int64_t bytes = 0;
  for (const Buffer& b : placed.program.buffers)
    if (b.resident && b.bytes() >= plan::least_shared_bytes && is_frozen(placed.graph, b))
      bytes += b.bytes();
  return bytes;
}

}  // namespace

TEST_CASE("frozen weights that ranks on CPUs have whole lie in pages of their own") {
  const std::string mode = GENERATE(std::string("ddp"), std::string("zero1"), std::string("zero2"));
  CAPTURE(mode);
  const plan::RunPlan plan = plan_of(mode, 4);
  for (const auto* programs : {&plan.role().train, &plan.role().evaluate})
    for (const plan::PlacedProgram& placed : *programs) {
      const std::vector<Range> pages = plan::shared_pages(plan, placed, Space::device);
      REQUIRE_FALSE(pages.empty());
      CHECK(plan::shared_pages(plan, placed, Space::host).empty());
      std::int64_t end = 0;
      for (const Range& range : pages) {
        CHECK(range.begin % program::page_bytes == 0);
        CHECK(range.end % program::page_bytes == 0);
        CHECK(range.begin >= end);
        end = range.end;
      }
      CHECK(end <= plan.memory.arena_bytes);
      const std::vector<bool> shared = plan::shared_weights(plan, placed.graph, placed.program);
      for (std::size_t b = 0; b < shared.size(); ++b) {
        const Buffer& buffer = placed.program.buffers[b];
        CHECK(shared[b] == (buffer.resident && buffer.bytes() >= plan::least_shared_bytes &&
                            is_frozen(placed.graph, buffer)));
        if (shared[b] || buffer.space != Space::device || buffer.bytes() == 0) continue;
        const std::int64_t from = placed.placement.base[b], to = from + buffer.bytes();
        for (const Range& range : pages) {
          if (from < range.end && to > range.begin) FAIL(buffer.name);
        }
      }
    }
}

TEST_CASE("a rank's total has its share of weights that the ranks of a host hold once") {
  const plan::RunPlan alone = plan_of("ddp", 1), together = plan_of("ddp", 4);
  CHECK(alone.memory.shared_bytes == 0);
  CHECK(plan::fingerprint(alone) == plan::fingerprint(together));
  const std::int64_t bytes = together.memory.shared_bytes;
  CHECK(bytes == plan::shared_bytes(together, together.role().train.front()));
  CHECK(bytes >= frozen_bytes(together.role().train.front()));
  CHECK(together.memory.of_other_ranks_bytes == bytes / 4 * 3);
  CHECK(alone.memory.total_bytes() - together.memory.total_bytes() == bytes / 4 * 3);
  std::int64_t sum = 0;
  for (const auto& [name, of] : together.memory.categories) sum += of;
  CHECK(sum == together.memory.total_bytes());
}

TEST_CASE("shards and single ranks share nothing") {
  for (const std::string mode : {"zero3", "single"}) {
    CAPTURE(mode);
    const plan::RunPlan plan = plan_of(mode, mode == "single" ? 1 : 4);
    CHECK(plan::shared_bytes(plan, plan.role().train.front()) == 0);
    CHECK(plan.memory.shared_bytes == 0);
  }
}

TEST_CASE("beside GPUs the ranks of a host share what is offloaded") {
  const std::string bf16 = "precision: bf16\n";
  CHECK(plan_of("ddp", 4, bf16, "h200").memory.shared_bytes == 0);
  const std::string offload = bf16 + "memory: {parameter_offload: cpu}\n";
  const plan::RunPlan alone = plan_of("ddp", 1, offload, "h200"),
                      together = plan_of("ddp", 4, offload, "h200");
  const plan::PlacedProgram& placed = together.role().train.front();
  CHECK(plan::shared_pages(together, placed, Space::device).empty());
  CHECK_FALSE(plan::shared_pages(together, placed, Space::host).empty());
  const std::int64_t bytes = together.memory.shared_bytes;
  CHECK(bytes >= frozen_bytes(placed));
  CHECK(together.memory.total_bytes() == alone.memory.total_bytes());
  CHECK(plan::host_need(alone.memory) - plan::host_need(together.memory) == bytes / 4 * 3);
}

}  // namespace shared_weights_test
