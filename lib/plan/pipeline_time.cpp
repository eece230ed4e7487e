#include "plan/pipeline_time.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

using program::PipelineShape, program::TurnTimes;

/// A schedule of more micro-steps takes as much longer as they keep the slowest stage busy.
int simulated_micro_steps(const PipelineShape& shape) {
  return std::min(shape.micro_steps, 4 * shape.all_chunks());
}

}  // namespace

StageTime stage_time(const PlacedProgram& placed, const program::PipelineCut& cut, double step_s,
                     const program::Rates& rates) {
  StageTime time{step_s, std::vector<TurnTimes>(static_cast<std::size_t>(cut.shape.all_chunks()),
                                                TurnTimes{0, 0})};
  const int micro = placed.micro_steps / 2;  // one like most
  program::ProductTimes products(rates);
  double message_s = 0;
  for (const program::Instruction& i : placed.program.steady) {
    if (i.micro != micro) continue;
    const bool is_message = i.op == program::Op::send || i.op == program::Op::recv;
    if (!is_message && !is_of_block(i)) continue;
    const double s = program::duration_s(i, placed.program, placed.graph, products);
    if (is_message) {
      message_s += s;
    } else {
      time.message_s = std::max(time.message_s, message_s);
      message_s = 0;
      const int chunk = cut.chunk_of_block[static_cast<std::size_t>(i.block)];
      const bool is_backward = i.op == program::Op::backward || i.op == program::Op::recompute;
      TurnTimes& turn = time.of_chunks[static_cast<std::size_t>(chunk)];
      (is_backward ? turn.backward : turn.forward) += s;
    }
  }
  time.message_s = std::max(time.message_s, message_s);
  return time;
}

PipelineTime pipeline_time(const program::PipelineCut& cut, const std::vector<StageTime>& stages) {
  PipelineShape shape = cut.shape;
  const int all = shape.micro_steps;
  shape.micro_steps = simulated_micro_steps(shape);
  std::vector<TurnTimes> of_chunks(static_cast<std::size_t>(shape.all_chunks()), TurnTimes{0, 0});
  double message_s = 0, slowest_s = 0, rest_s = 0, busy_s = 0;
  for (const StageTime& stage : stages) {
    double of_micro_step = 0;
    for (std::size_t c = 0; c < of_chunks.size(); ++c) {
      of_chunks[c].forward += stage.of_chunks[c].forward;
      of_chunks[c].backward += stage.of_chunks[c].backward;
      of_micro_step += stage.of_chunks[c].forward + stage.of_chunks[c].backward;
    }
    message_s = std::max(message_s, stage.message_s);
    slowest_s = std::max(slowest_s, of_micro_step);
    rest_s = std::max(rest_s, stage.step_s - all * of_micro_step);
    busy_s += all * of_micro_step;
  }
  double turns_s = 0;
  for (const auto& stage :
       program::timed(shape, program::turns_of_step(shape, cut.schedule), of_chunks, message_s))
    turns_s = std::max(turns_s, stage.back().end);
  turns_s += (all - shape.micro_steps) * slowest_s;
  PipelineTime time{turns_s + rest_s, 0};
  if (turns_s > 0) time.idle_share = 1 - busy_s / (turns_s * static_cast<double>(shape.stages));
  return time;
}

}  // namespace trainx::plan
