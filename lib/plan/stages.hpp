// How layers are cut into the stages of a pipeline.
#pragma once
#include "plan/draft.hpp"
#include "program/pipeline_cut.hpp"

namespace trainx::plan {

/// The cut of the graph's blocks into as many chunks as parallel.pipeline and pipeline_chunks ask
/// for, between layers: that whose slowest chunk takes the least, by the arithmetic and the bytes
/// of its blocks in training on the longest rows, and by what is recomputed. Graphs of other
/// lengths, and of evaluation, are cut between the same layers. Throws UserError 78 where the model
/// has too few layers, or the schedule does not go with the number of micro-steps.
program::PipelineCut pipeline_cut(const Draft& plan, const program::ModelGraph& graph);

/// Does parallel.pipeline_schedule go with so many micro-steps?
bool may_take_turns(const Draft& plan, std::int64_t micro_steps);
/// Throws UserError 78 where the schedule does not go with the number of micro-steps.
void require_turns(const Draft& plan);
/// The smallest number of micro-steps that the schedule goes with.
std::int64_t least_micro_steps(const Draft& plan);
/// Of stages as many as are under way at once and as many behind them: more take no more memory.
/// Without stages 1.
std::int64_t micro_steps_under_way(const Draft& plan);

/// A module of the user's own keeps the graph of one micro-batch from forward to backward. Throws
/// UserError 78 where a stage would have several under way.
void require_graphs_apart(const Draft& plan);

/// The schedule of a step, were all chunks alike; times in forwards of a chunk.
struct TimedSchedule {
  program::PipelineShape shape;
  std::vector<std::vector<program::TimedTurn>> turns;  // by stage
};
TimedSchedule timed_schedule(const Draft& plan);

/// Of a step, the share in which stages wait for each other, were all chunks alike. 0 without
/// stages.
double pipeline_idle_share(const Draft& plan);

/// Of fewer micro-steps than stages, which never are all busy; "" otherwise.
std::string idle_stages_warning(const Draft& plan);

/// What plans say of stages; "" where there are none.
std::string stages_words(const Draft& plan);

}  // namespace trainx::plan
