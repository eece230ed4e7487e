#include "plan/choose/mode.hpp"
#include "recipe/value.hpp"
#include "plan/check_programs.hpp"
#include "core/error.hpp"
#include "plan/explain/exchanges.hpp"
#include "plan/choose/decide.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "recipe/value.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/user_error.hpp"
#include <map>

namespace choose_mode_test {

using namespace trainx;
using recipe::ParallelMode;

namespace {

/// `launched`: by as many ranks, which the recipe need not know; 0: by those of the recipe.
plan::RunPlan planned(const std::string& parallel, const std::string& more = "",
                      const std::string& gpu = "", const std::string& optimizer = "{type: adamw}",
                      std::int64_t local_ranks = 1, std::int64_t launched = 0) {
  auto recipe =
      recipe::parse_recipe(
          "model: {type: gpt2, options: {num_layers: 8, num_heads: 4, hidden_size: 256, "
          "max_positions: 64, vocab_size: 1000}}\ndata: {type: stories, sequence_length: 64}\n"
          "batch: {global_batch_size: 16, micro_batch_size: 2}\noptimizer: " +
              optimizer + "\nparallel: {" + parallel + "}\n" + more,
          "test")
          .recipe;
  if (launched > 0) recipe.parallel.world_size.value = launched;
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{64} << 30;
  f.hardware.local_ranks = local_ranks;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return plan::make_run_plan(recipe, f, {.gpu = gpu});
}

std::string budget(std::int64_t bytes, const std::string& more = "") {
  return "memory: {budget: " + std::to_string(bytes) + " B" + more + "}";
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& l : lines) text += l + "\n";
  return text;
}

std::int64_t category(const plan::RunPlan& plan, const std::string& name) {
  for (const auto& [category, bytes] : plan.memory.categories)
    if (category == name) return bytes;
  return 0;
}

}  // namespace

TEST_CASE("ranks of a launcher that degrees do not divide are refused by the degrees' names") {
  const auto refused = [](const std::string& parallel, std::int64_t launched) {
    return user_error_of([&] { planned(parallel, "", "", "{type: adamw}", 1, launched); });
  };
  CHECK_THAT(refused("tensor: 2, context: 2", 6),
             ContainsSubstring("78: ") && ContainsSubstring("parallel.context") &&
                 ContainsSubstring("parallel.tensor") && ContainsSubstring("is 6") &&
                 ContainsSubstring("multiple of 4"));
  CHECK_THAT(refused("context: 2", 3),
             ContainsSubstring("parallel.context") && ContainsSubstring("is 3") &&
                 ContainsSubstring("multiple of 2") && !ContainsSubstring("parallel.tensor"));
  CHECK_THAT(refused("tensor: 4", 6), ContainsSubstring("parallel.tensor") &&
                                          ContainsSubstring("is 6") &&
                                          ContainsSubstring("multiple of 4"));
  CHECK(refused("tensor: 2, context: 2", 8) == "nothing thrown");
}

TEST_CASE("each stage keeps less than the one before, and its shards are a rank's part") {
  for (const int world : {2, 4, 8}) {
    const std::string of = ", world_size: " + std::to_string(world);
    const auto ddp = planned("mode: ddp" + of), zero1 = planned("mode: zero1" + of),
               zero2 = planned("mode: zero2" + of), zero3 = planned("mode: zero3" + of);
    CAPTURE(world);
    CHECK(zero1.memory.arena_bytes < ddp.memory.arena_bytes);
    CHECK(zero2.memory.arena_bytes <= zero1.memory.arena_bytes);
    CHECK(zero3.memory.arena_bytes < zero2.memory.arena_bytes);
    for (const auto* plan : {&zero1, &zero2, &zero3}) {
      CHECK(std::abs(static_cast<double>(category(*plan, "optimizer state")) * world /
                         static_cast<double>(category(ddp, "optimizer state")) -
                     1) < 0.05);
      std::map<std::string, std::int64_t> moved;
      for (const auto& e : plan::exchanges_of(*plan)) moved[e.name] = e.bytes;
      CHECK(moved.size() == 3);
      CHECK(moved["weights gathered"] >= category(ddp, "weights"));
    }
  }
}

TEST_CASE("parallel.mode: auto is ddp where that fits, else the first that does, and says why") {
  std::map<ParallelMode, std::int64_t> bytes;
  for (const char* mode : {"ddp", "zero1", "zero2", "zero3"}) {
    const auto plan = planned(std::string("mode: ") + mode + ", world_size: 4");
    bytes[plan.mode] = plan.memory.total_bytes();
  }
  const auto roomy = planned("world_size: 4");
  CHECK(roomy.mode == ParallelMode::ddp);
  check_sentence("plan.choose_mode/ddp", line_with(all_of(roomy.choices), "parallel.mode ddp"),
                 Numbers::any);
  for (const auto& [mode, have] : bytes) {
    const auto plan = planned("world_size: 4", budget(have));
    INFO(all_of(plan.choices));
    const auto first = std::ranges::find_if(bytes, [&](const auto& b) { return b.second <= have; });
    CHECK(plan.mode == first->first);
    CHECK(*plan.recipe.parallel.mode.value == first->first);
    CHECK(plan.memory.total_bytes() <= have);
    check_sentence(std::string("plan.choose_mode/fits_") + recipe::write_value(mode),
                   line_with(all_of(plan.choices), "parallel.mode "), Numbers::any);
  }
  const std::string problem =
      user_error_of([&] { planned("world_size: 4", budget(bytes[ParallelMode::zero3] * 9 / 10)); });
  CHECK(problem.starts_with("71: "));
  // With memory.fit recomputation comes on top of shards, not in their place.
  const auto fitted =
      planned("world_size: 4", budget(bytes[ParallelMode::zero3] - 1, ", fit: true"));
  INFO(all_of(fitted.choices));
  CHECK(fitted.zero_stage() > 0);
  CHECK(fitted.memory.total_bytes() < bytes[ParallelMode::zero3]);
}

TEST_CASE(
    "where shards would help, a refusal says so; what updates whole tensors is sharded as any "
    "other") {
  const auto ddp = planned("mode: ddp, world_size: 4"),
             zero1 = planned("mode: zero1, world_size: 4");
  const std::string tight = budget(zero1.memory.total_bytes());
  CHECK(user_error_of([&] {
          planned("mode: ddp, world_size: 4", tight);
        }).find("parallel.mode zero1") != std::string::npos);
  const auto lamb = planned("world_size: 4", tight, "", "{type: lamb}");
  CHECK(lamb.mode == ParallelMode::zero1);
  const auto exchanges = plan::exchanges_of(lamb);
  CHECK(std::ranges::count(exchanges, "sums over tensors", &plan::Exchange::name) == 1);
}

TEST_CASE(
    "zero3 keeps weights from forward to backward where links make that worth its memory, and says "
    "why") {
  const std::string parallel = "mode: zero3, world_size: 4";
  const auto unknown = planned(parallel);
  CHECK(unknown.turns_kept == 0);
  auto in_fp8 = planned(parallel, "precision: {compute: bf16, products: fp8, small_products: fp8}");
  program::Rates slow_links;
  slow_links.gemm_flops_per_s = 1e14;
  slow_links.memory_bytes_per_s = 1e12;
  slow_links.link_bytes_per_s = 1e9;
  in_fp8.knows_links = true;
  plan::decide(in_fp8, &slow_links, 1);
  in_fp8.program_set = plan::plan_program_set(in_fp8);
  CHECK(in_fp8.turns_kept > 0);
  CHECK(std::ranges::count(plan::exchanges_of(in_fp8), "largest scales of weights in fp8",
                           &plan::Exchange::name) == 1);
  check_sentence("plan.choose_mode/zero3_links_unknown",
                 line_with(all_of(unknown.choices), "zero3 gathers"));
  const auto with_links = [&](double bytes_per_s, std::int64_t have) {
    plan::RunPlan plan = unknown;
    plan.choices.clear();
    program::Rates rates;
    rates.gemm_flops_per_s = 1e14;
    rates.memory_bytes_per_s = 1e12;
    rates.link_bytes_per_s = bytes_per_s;
    plan.budget_bytes = have;
    plan.knows_links = true;
    plan::decide(plan, &rates, 1);
    plan.program_set = plan::plan_program_set(plan);
    return plan;
  };
  const auto slow = with_links(1e9, 0), fast = with_links(1e15, 0),
             tight = with_links(1e9, unknown.memory.total_bytes() + (4 << 20)),
             full = with_links(1e9, unknown.memory.total_bytes() - 1);
  INFO(all_of(slow.choices) << all_of(fast.choices) << all_of(tight.choices)
                            << all_of(full.choices));
  const auto gathered = [](const plan::RunPlan& plan) {
    for (const auto& e : plan::exchanges_of(plan))
      if (e.name == "weights gathered") return e.bytes;
    return std::int64_t{0};
  };
  CHECK(gathered(slow) < gathered(unknown));
  check_sentence("plan.choose_mode/zero3_slow_links",
                 line_with(all_of(slow.choices), "zero3 keeps"), Numbers::any);
  CHECK(fast.turns_kept == 0);
  check_sentence("plan.choose_mode/zero3_fast_links",
                 line_with(all_of(fast.choices), "zero3 gathers"), Numbers::any);
  CHECK(plan::plan_memory_budget(tight, tight.role()).total_bytes() <=
        unknown.memory.total_bytes() + (4 << 20));
  CHECK(tight.turns_kept > 0);
  CHECK(tight.turns_kept < slow.turns_kept);
  CHECK(full.turns_kept == 0);
  CHECK(line_with(all_of(full.choices), "zero3 gathers").find(" 69 times") != std::string::npos);
  check_sentence("plan.choose_mode/zero3_no_memory",
                 line_with(all_of(full.choices), "zero3 gathers"), Numbers::any);
}

TEST_CASE(
    "shards lie among the ranks of one node where that fits, else among all; the recipe's number "
    "goes before") {
  const auto on_nodes = [](const std::string& parallel, std::int64_t local_ranks,
                           const std::string& more = "") {
    return planned(parallel, more, "", "{type: adamw}", local_ranks);
  };
  const std::string parallel = "mode: zero3, world_size: 8";
  const auto nodes = on_nodes(parallel, 4), node = on_nodes(parallel, 8),
             asked = on_nodes(parallel + ", shard_ranks: 2", 4);
  CHECK(nodes.mesh.shard == 4);
  CHECK(*nodes.recipe.parallel.shard_ranks.value == 4);
  check_sentence("plan.choose_mode/shards_of_a_node",
                 line_with(all_of(nodes.choices), "parallel.shard_ranks 4"), Numbers::any);
  CHECK(node.mesh.shard == 8);
  CHECK(all_of(node.choices).find("parallel.shard_ranks") == std::string::npos);
  CHECK(asked.mesh.shard == 2);
  CHECK(asked.memory.arena_bytes > nodes.memory.arena_bytes);
  CHECK(nodes.memory.arena_bytes > node.memory.arena_bytes);
  const auto tight = on_nodes(parallel, 4, budget(nodes.memory.total_bytes() - 1));
  CHECK(tight.mesh.shard == 8);
  check_sentence("plan.choose_mode/shards_of_all",
                 line_with(all_of(tight.choices), "parallel.shard_ranks 8"), Numbers::any);
  CHECK(on_nodes(parallel, 3).mesh.shard == 8);  // no groups of three
  // more than the check follows: it looks at fewer, in groups too
  plan::Draft many = nodes;
  many.mesh.world = 16;
  CHECK_NOTHROW(plan::require_sound_programs(many, plan::plan_program_set(many)));
  // one rank: its shards are the whole
  CHECK(planned("mode: zero2, shard_ranks: 2").mode == ParallelMode::single);
  check_error("plan.choose_mode/no_groups", 78,
              user_error_of([&] { planned("mode: zero2, world_size: 4, shard_ranks: 3"); }));
  check_error("plan.choose_mode/no_shards", 78,
              user_error_of([&] { planned("mode: ddp, world_size: 4, shard_ranks: 2"); }));
}

}  // namespace choose_mode_test
