#include "plan/explain/exchanges.hpp"
#include "plan/memory_plan.hpp"
#include "plan/run_plan.hpp"
#include "support/catch.hpp"
#include <cmath>

namespace micro_steps_test {

using namespace trainx;

namespace {

plan::RunPlan planned(const std::string& more, std::int64_t micro_steps, std::int64_t ranks,
                      bool every_micro_step) {
  const std::string text =
      "model: {type: gpt2, options: {num_layers: 3, num_heads: 2, hidden_size: 128}}\ndata: {type: "
      "stories, sequence_length: 64}\nbatch: {global_batch_size: " +
      std::to_string(2 * micro_steps * ranks) +
      ", micro_batch_size: 2}\nparallel: {world_size: " + std::to_string(ranks) +
      (more.find("zero") == std::string::npos && more.find("dp") == std::string::npos ? "}\n" : "");
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{64} << 30;
  f.offload_folder = {{"/scratch", std::int64_t{1} << 40, 1e9}};
  f.data = {true, true, 100000, 100, 0, {}, ""};
  return plan::make_run_plan(recipe::parse_recipe(text + more, "test").recipe, f,
                             {.gpu = "h200", .every_micro_step = every_micro_step});
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

}  // namespace

TEST_CASE("a plan that leaves out micro-steps has the numbers of the whole step") {
  struct Case {
    std::string more;
    std::int64_t micro_steps, ranks;
  };
  const auto c =
      GENERATE(Case{"", 1500, 1}, Case{"memory: {activation_checkpoint: full}\n", 1500, 1},
               Case{"memory: {activation_offload: cpu}\n", 1500, 1},
               Case{"memory: {optimizer_offload: cpu}\nprecision: bf16\n", 1500, 1},
               Case{"memory: {parameter_offload: cpu}\n", 1500, 1},
               Case{"run: {execution: eager}\n", 1500, 1}, Case{", mode: ddp}\n", 1500, 2},
               Case{", mode: dp}\n", 300, 2}, Case{", mode: zero1}\n", 300, 2},
               Case{", mode: zero2}\n", 300, 2}, Case{", mode: zero3}\n", 300, 2});
  CAPTURE(c.more);
  const auto some = planned(c.more, c.micro_steps, c.ranks, false),
             all = planned(c.more, c.micro_steps, c.ranks, true);
  const auto &p = some.role().train.back().program, &q = all.role().train.back().program;
  REQUIRE(p.repeats > 0);
  REQUIRE(q.repeats == 0);
  CHECK(p.steady.size() < q.steady.size());
  std::int64_t instructions = 0;
  for (const auto& i : p.steady) instructions += program::times(p, i);
  CHECK(instructions == static_cast<std::int64_t>(q.steady.size()));
  CHECK(some.memory.total_bytes() == all.memory.total_bytes());
  CHECK(some.memory.host_bytes == all.memory.host_bytes);
  CHECK(some.memory.categories == all.memory.categories);
  CHECK(
      close(plan::step_flops(some.role().train.back()), plan::step_flops(all.role().train.back())));
  CHECK(plan::offloaded_bytes(p) == plan::offloaded_bytes(q));
  CHECK(plan::parameter_copies(p).in == plan::parameter_copies(q).in);
  CHECK(plan::optimizer_copies(p).gradients_out == plan::optimizer_copies(q).gradients_out);
  const auto exchanged = plan::exchanges_of(some), of_all = plan::exchanges_of(all);
  REQUIRE(exchanged.size() == of_all.size());
  for (std::size_t k = 0; k < of_all.size(); ++k) CHECK(exchanged[k].bytes == of_all[k].bytes);
  REQUIRE(some.time);
  CHECK(close(some.time->step_s, all.time->step_s));
  CHECK(close(some.time->gemm_s, all.time->gemm_s));
  CHECK(close(some.time->attention_s, all.time->attention_s));
  CHECK(close(some.time->memory_s, all.time->memory_s));
  for (std::size_t lane = 0; lane < program::lane_count; ++lane)
    CHECK(close(some.time->busy_s[lane], all.time->busy_s[lane]));
  CHECK(some.time->bottleneck == all.time->bottleneck);
}

TEST_CASE("steps of usual length are planned whole") {
  CHECK(planned("", 64, 1, false).role().train.back().program.repeats == 0);
}

}  // namespace micro_steps_test
