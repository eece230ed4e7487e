// Stages of layers.
#include "recipe/rule_set.hpp"

namespace trainx::recipe {
namespace {

class PipelineRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    const bool interleaved = r_.parallel.pipeline_schedule == PipelineSchedule::interleaved;
    const std::int64_t chunks = r_.parallel.pipeline_chunks;
    if (r_.parallel.pipeline.is_auto()) return;
    if (stages() == 1) {
      refuse(interleaved, "parallel.pipeline_schedule", {pipeline},
             "can have no effect with parallel.pipeline: 1: all layers are one stage");
      refuse(chunks > 1, "parallel.pipeline_chunks", {pipeline},
             "can have no effect with parallel.pipeline: 1: all layers are one stage");
      return;
    }
    ranks();
    weights();
    refuse(!interleaved && chunks > 1, "parallel.pipeline_chunks", {"parallel.pipeline_schedule"},
           "is " + std::to_string(chunks) +
               ", and in pipeline_schedule: 1f1b a stage has one chunk of layers: write "
               "interleaved, or leave pipeline_chunks out");
    refuse(interleaved && chunks == 1, "parallel.pipeline_schedule", {"parallel.pipeline_chunks"},
           "interleaved needs several chunks of layers in each stage: write "
           "parallel.pipeline_chunks: 2 or more, or pipeline_schedule: 1f1b");
    const auto& micro_steps = r_.batch.grad_accum_steps;
    refuse(interleaved && micro_steps && *micro_steps % stages() != 0, "parallel.pipeline_schedule",
           {pipeline, "batch.grad_accum_steps"},
           "interleaved takes as many micro-steps at a time as there are stages: " +
               std::to_string(micro_steps.value_or(0)) +
               " micro-steps are no multiple of parallel.pipeline, which is " +
               std::to_string(stages()) + ": mend one, or write 1f1b");
  }

 private:
  static constexpr const char* pipeline = "parallel.pipeline";
  std::int64_t stages() const { return pipeline_stages(); }

  void ranks() {
    const std::string several = "gives each rank some of the layers, and ";
    const auto& world = r_.parallel.world_size.value;
    refuse(mode_is(ParallelMode::single) || (world && *world == 1), pipeline,
           {"parallel.mode", "parallel.world_size"},
           several + "there is one: start more, or write 1");
    const std::int64_t sharing = stages() * tensor_ranks() * context_ranks();
    const bool alone = sharing == stages();
    refuse(world && *world % sharing != 0, pipeline,
           {"parallel.world_size", "parallel.tensor", "parallel.context"},
           (alone ? "" : "times parallel.tensor and parallel.context ") +
               std::string("must divide parallel.world_size: ") +
               std::to_string(world.value_or(0)) + " ranks are no groups of " +
               std::to_string(sharing));
    refuse(mode_is(ParallelMode::dp), pipeline, {"parallel.mode"},
           several + "parallel.mode: dp keeps all weights on rank 0: write ddp");
    for (const ParallelMode mode : {ParallelMode::zero2, ParallelMode::zero3})
      refuse(mode_is(mode), pipeline, {"parallel.mode"},
             std::string("has several micro-steps under way, for each of which parallel.mode: ") +
                 (mode == ParallelMode::zero2 ? "zero2 would scatter the gradients"
                                              : "zero3 would gather the weights") +
                 " again: write zero1 or ddp");
  }

  void weights() {
    const std::string several = "gives each rank some of the layers, and ";
    refuse(r_.generate.every.has_value(), pipeline, {"generate.every"},
           several + "generate.every needs all weights on one rank: leave one out");
    refuse(r_.optimizer.update_in_backward, pipeline, {"optimizer.update_in_backward"},
           "sums the gradients of several micro-steps, and optimizer.update_in_backward updates "
           "behind each: leave one out");
  }
};

}  // namespace

void check_pipeline_rules(const RuleContext& context) { PipelineRules(context).check(); }

}  // namespace trainx::recipe
