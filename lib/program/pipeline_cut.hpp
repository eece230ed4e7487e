// How the blocks of a model are cut into the stages of a pipeline.
#pragma once
#include "program/model_graph.hpp"
#include "program/pipeline_turns.hpp"

namespace trainx::program {

struct PipelineCut {
  PipelineShape shape;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::vector<int> chunk_of_block;  // ascending
  int stage_of_block(int block) const {
    return shape.stage_of(chunk_of_block[static_cast<std::size_t>(block)]);
  }
};

/// By group of the graph, ascending: the stages whose blocks use it. Each keeps it, and the first
/// one sums its gradients. What no block uses is the first stage's.
std::vector<std::vector<int>> stages_of_groups(const ModelGraph& graph, const PipelineCut& cut);

}  // namespace trainx::program
