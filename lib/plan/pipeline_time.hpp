// What a step of a pipeline takes, of what its stages take.
#pragma once
#include "plan/programs.hpp"
#include "program/pipeline_cut.hpp"
#include "program/time.hpp"

namespace trainx::plan {

/// Of one stage, as predicted. Seconds.
struct StageTime {
  double step_s = 0;                          // without waiting for other stages
  std::vector<program::TurnTimes> of_chunks;  // of all; those of other stages are 0
  double message_s = 0;                       // of the longest between two turns
};
StageTime stage_time(const PlacedProgram& placed, const program::PipelineCut& cut, double step_s,
                     const program::Rates& rates);

struct PipelineTime {
  double step_s = 0;
  double idle_share = 0;  // of the turns' time, in which stages wait for each other
};
/// The turns of all stages beside each other, and what the slowest stage does beside its turns.
PipelineTime pipeline_time(const program::PipelineCut& cut, const std::vector<StageTime>& stages);

}  // namespace trainx::plan
