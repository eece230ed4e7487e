#include "plan/roles.hpp"
#include "plan/check_programs.hpp"
#include "plan/run_plan.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace roles_test {

using namespace trainx;
using plan::ProgramSet;
using plan::RankRole;

namespace {

plan::RunPlan of_ranks(const std::string& mode, int ranks) {
  const std::string text =
      "model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 16, max_positions: "
      "8, vocab_size: 64}}\ndata: {type: stories, sequence_length: 8}\nbatch: "
      "{global_batch_size: 60, micro_batch_size: 2}\nparallel: {mode: " +
      mode + ", world_size: " + std::to_string(ranks) + "}\n";
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{8} << 30;
  f.hardware.local_ranks = ranks;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, f);
}

}  // namespace

TEST_CASE("ranks of dp have two roles, a rank alone and ranks of other modes one") {
  for (const int ranks : {1, 2, 5}) {
    // a rank alone has no mode but single
    const plan::RunPlan dp = of_ranks(ranks == 1 ? "auto" : "dp", ranks),
                        ddp = of_ranks(ranks == 1 ? "auto" : "ddp", ranks);
    const ProgramSet& set = dp.program_set;
    CAPTURE(ranks);
    REQUIRE(ddp.program_set.roles.size() == 1);
    REQUIRE(set.roles.size() == (ranks == 1 ? 1U : 2U));
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(ddp.program_set.role_of(rank) == 0);
      CHECK(set.role_of(rank) == (rank == 0 ? 0 : 1));
      CHECK(&set.of(rank) == &set.roles[rank == 0 ? 0 : 1]);
    }
    for (const auto duty : {&plan::Duties::reads_batches, &plan::Duties::has_loss,
                            &plan::Duties::keeps_weights, &plan::Duties::evaluates}) {
      CHECK(set.roles.front().*duty);
      CHECK(set.roles.back().*duty == (ranks == 1));
      CHECK(set.all(duty) == (ranks == 1));
      CHECK(ddp.program_set.all(duty));
    }
  }
}

TEST_CASE("duties of a role are what its programs do") {
  const ProgramSet set = of_ranks("dp", 3).program_set;
  for (const RankRole& role : set.roles) {
    const program::StepProgram& p = role.train.front().program;
    const auto has = [&p](program::Op op) {
      return std::ranges::count(p.steady, op, &program::Instruction::op) > 0;
    };
    CHECK(role.reads_batches == has(program::Op::fetch_batch));
    CHECK(role.has_loss == has(program::Op::report));
    CHECK(role.keeps_weights == has(program::Op::update));
    CHECK(role.keeps_weights == std::ranges::any_of(p.buffers, &program::Buffer::resident));
    CHECK(role.evaluates == !role.evaluate.empty());
  }
}

TEST_CASE("a role begins where the one before it ends") {
  ProgramSet stages;  // of a pipeline of three, two ranks each
  for (const int first : {0, 2, 4}) stages.roles.emplace_back().first_rank = first;
  std::vector<int> roles;
  for (int rank = 0; rank < 6; ++rank) roles.push_back(stages.role_of(rank));
  CHECK(roles == std::vector{0, 0, 1, 1, 2, 2});
}

TEST_CASE("a run takes the memory of the role that takes the most, and the time of the slowest") {
  const plan::RunPlan dp = of_ranks("dp", 2);
  CHECK(dp.role(0).memory.total_bytes() > dp.role(1).memory.total_bytes());
  CHECK(dp.memory.total_bytes() == dp.role(0).memory.total_bytes());
  ProgramSet set;
  for (const double step_s : {1.0, 3.0, 2.0}) {
    RankRole& role = set.roles.emplace_back();
    role.time.emplace().step_s = step_s;
    role.memory.arena_bytes = static_cast<std::int64_t>(10 / step_s);
  }
  CHECK(set.slowest_time()->step_s == 3);
  CHECK(set.largest_memory().arena_bytes == 10);
}

TEST_CASE("roles are checked together: what one sends the other has to take") {
  const plan::RunPlan dp = of_ranks("dp", 3);
  CHECK_NOTHROW(plan::require_sound_programs(dp, dp.program_set));
  for (const std::size_t role : {0U, 1U}) {
    ProgramSet damaged = dp.program_set;
    auto& steady = damaged.roles[role].train.front().program.steady;
    const program::Op op = role == 0 ? program::Op::send : program::Op::recv;
    const auto of_batch = std::ranges::find(steady, op, &program::Instruction::op);
    REQUIRE(of_batch != steady.end());
    steady.erase(of_batch);
    CHECK_THROWS_AS(plan::require_sound_programs(dp, damaged), InternalError);
  }
}

TEST_CASE("a fingerprint tells the programs of each role") {
  const plan::RunPlan dp = of_ranks("dp", 2);
  for (const std::size_t role : {0U, 1U}) {
    plan::RunPlan other = dp;
    other.program_set.roles[role].train.front().program.steady.pop_back();
    CHECK(plan::fingerprint(other) != plan::fingerprint(dp));
  }
}

}  // namespace roles_test
