#include "plan/choose/evaluator.hpp"
#include "plan/memory_plan.hpp"
#include "plan/pipeline_time.hpp"
#include "plan/stages.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <set>

namespace trainx::plan {
namespace {

/// Gathers of weights in a step, and of how many groups.
void count_gathers(const program::StepProgram& p, Evaluation& e) {
  std::set<program::BufferId> groups;
  for (const program::Instruction& i : p.steady)
    for (int k = 0; i.op == program::Op::gather; ++k) {
      const program::Use* shard = find_use(i, program::ShardSlot::from(k));
      if (!shard || !is_of_group(p.buffers[static_cast<std::size_t>(shard->buffer)])) break;
      e.gathers += program::times(p, i);
      groups.insert(shard->buffer);
    }
  e.gathered_groups = static_cast<std::int64_t>(groups.size());
}

/// What is weighed: the first rank, which has all duties, and that of each other stage.
std::vector<Duties> duties_of_stages(const Draft& plan) {
  return plan.mesh.pipeline > 1 ? duties_of(plan) : std::vector<Duties>(1);
}

}  // namespace

std::int64_t gathers_of_step(const program::StepProgram& p) {
  Evaluation e;
  count_gathers(p, e);
  return e.gathers;
}

double step_seconds(const Programs& programs, const program::Rates& rates) {
  const PlacedProgram& placed = programs.train.back();
  return program::predict_time(placed.program, placed.order, placed.graph, rates).step_s;
}

Evaluator::Evaluator(Draft problem, const program::Rates* rates)
    : problem_(std::move(problem)),
      samples_(problem_.batch.micro_batch_size * problem_.batch.grad_accum_steps) {
  if (rates) rates_ = *rates;
  problem_.row_lengths = {problem_.row_lengths.back()};
  problem_.fewest_micro_steps = true;
  problem_.every_micro_step = false;
}

const Evaluation& Evaluator::memory_of(const Decisions& choice) { return known(choice, false); }
const Evaluation& Evaluator::of(const Decisions& choice) { return known(choice, true); }

const Evaluation& Evaluator::known(const Decisions& choice, bool timed) {
  timed = timed && rates_;
  Known& k = known_[choice];
  const bool is_new = k.evaluation.bytes == 0;
  if (!is_new && (k.timed || !timed)) return k.evaluation;
  const std::int64_t micro_steps = samples_ / choice.micro_batch_size;
  // the first, one between and the last: without stages more take no more memory
  const std::int64_t micro_steps_of_memory =
      std::max<std::int64_t>(3, micro_steps_under_way(problem_));
  const Draft decided = sized(choice, std::min(micro_steps, micro_steps_of_memory));
  Evaluation& e = k.evaluation;
  if (is_new)
    for (const Duties& duties : duties_of_stages(decided)) {
      const Programs programs = plan_programs(decided, Extent::bytes, duties);
      const MemoryPlan memory = plan_memory_totals(decided, programs);
      e.bytes = std::max(e.bytes, memory.total_bytes());
      e.host_bytes = std::max(e.host_bytes, problem_.on_gpu ? host_need(memory) : 0);
      e.offloaded_bytes =
          std::max(e.offloaded_bytes, offloaded_bytes(programs.train.back().program));
      if (duties.first_rank == 0) count_gathers(programs.train.back().program, e);
    }
  // the micro-steps between the second and the last are alike
  if (timed) {
    const Draft whole = sized(choice, micro_steps);
    std::vector<StageTime> stages;
    program::PipelineCut cut;
    for (const Duties& duties : duties_of_stages(whole)) {
      const Programs programs = plan_programs(whole, Extent::training, duties);
      e.seconds = step_seconds(programs, *rates_);
      if (whole.mesh.pipeline == 1) break;
      const PlacedProgram& longest = programs.train.back();
      if (stages.empty()) cut = pipeline_cut(whole, longest.graph);
      stages.push_back(stage_time(longest, cut, e.seconds, *rates_));
    }
    if (!stages.empty()) e.seconds = pipeline_time(cut, stages).step_s;
  }
  k.timed = timed;
  return e;
}

Draft Evaluator::sized(const Decisions& choice, std::int64_t micro_steps) const {
  Draft d = applied(problem_, choice);
  d.batch.grad_accum_steps = micro_steps;
  return d;
}

}  // namespace trainx::plan
