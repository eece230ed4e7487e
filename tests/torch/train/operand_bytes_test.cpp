// What the executor hands to operations is what memory was planned for, buffer by buffer; what
// operations on a CPU take is told by their kind.
#include "plan/explain/operations.hpp"
#include "small_run.hpp"
#include "support/catch.hpp"
#include <cmath>

namespace operand_bytes_test {

using namespace trainx;
using namespace trainx::train;

namespace {

struct RunningExecutor {
  explicit RunningExecutor(const plan::RunPlan& plan) : run(plan) {
    execute::ExecutorParts parts;
    parts.blocks = &run.blocks;
    parts.optimizer = run.optimizer.get();
    parts.fetch = [this](std::int64_t, int, int, data::BatchView out) {
      const auto length = static_cast<std::size_t>(run.plan.recipe.data.sequence_length);
      for (std::size_t b = 0; b < out.positions.size(); ++b) {
        out.positions[b] = static_cast<std::int64_t>(b);
        run.source->read(out.positions[b], {out.tokens.subspan(b * length, length),
                                            out.targets.subspan(b * length, length)});
      }
    };
    parts.report = [](const execute::StepScalarsReport&) {};
    parts.nominal_targets = plan.nominal_targets;
    executor = std::make_unique<execute::CpuExecutor>(run.programs, run.arena, std::move(parts));
  }
  SmallRun run;
  std::unique_ptr<execute::CpuExecutor> executor;
};

}  // namespace

TEST_CASE("every buffer of a step is given to an operation whole") {
  for (const char* precision : {"fp32", "bf16", "{compute: bf16, master: fp32}"})
    for (const char* level : {"none", "full"}) {
      const auto plan = small_plan({.precision = precision, .activation_checkpoint = level});
      RunningExecutor running(plan);
      CHECK(running.executor->operand_bytes().empty());  // nothing ran
      running.executor->submit_step();
      running.executor->wait_idle();
      const auto bytes = running.executor->operand_bytes();
      const auto& buffers = plan.role().train[0].program.buffers;
      REQUIRE(bytes.size() == buffers.size());
      for (std::size_t b = 0; b < buffers.size(); ++b) {
        CAPTURE(precision, level, buffers[b].name);
        CHECK(bytes[b] == buffers[b].bytes());
      }
    }
}

TEST_CASE("a timed step on a CPU is told apart by kinds of work, and its spans do not overlap") {
  const auto plan = small_plan({.dropout = 0.1});
  RunningExecutor running(plan);
  execute::StepTimes times;
  running.executor->submit_step();
  running.executor->time_next(1, [&](const execute::StepTimes& t) { times = t; });
  running.executor->submit_step();
  const auto work = execute::by_work({times});
  const auto ms = [&](Work w) {
    for (const auto& [kind, took] : work)
      if (kind == w) return took;
    return 0.0;
  };
  for (const Work w : {Work::matrix_product, Work::attention, Work::norm, Work::activation,
                       Work::loss, Work::embedding, Work::optimizer}) {
    CAPTURE(name_of(w));
    CHECK(ms(w) > 0);
  }
  double end = 0, sum = 0;
  for (const execute::StepSpan& span : times.spans) {
    if (span.lane != program::Lane::compute) continue;
    CHECK(span.begin_ms >= end - 1e-6);
    end = span.begin_ms + span.ms;
    sum += span.ms;
  }
  CHECK(sum <= times.ms * (1 + 1e-9));
  const auto operations = execute::by_operation({times});
  double of_operations = 0, of_work = 0;
  for (const auto& [key, took] : operations) of_operations += took;
  for (const auto& [kind, took] : work) of_work += took;
  CHECK(std::abs(of_operations - of_work) <= 1e-9 * of_work);
  CHECK(operations.at({plan::Direction::backward, plan::Operations::contractions}) > 0);
  CHECK(operations.at({plan::Direction::loss, plan::Operations::statistical}) > 0);
}

}  // namespace operand_bytes_test
