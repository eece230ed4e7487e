#include "plan/stages.hpp"
#include "core/error.hpp"
#include "plan/programs.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::plan {
namespace {

/// Operations that a device makes in the time in which its memory gives it a byte: of recent GPUs
/// in 16 bits some 200, of CPUs some 20.
constexpr double operations_of_a_byte = 100;

double cost_of(const program::Phase& phase) {
  double cost = phase.gemm_flops() + phase.attention_flops;
  for (const program::ElementWork& work : phase.element_work)
    cost += work.flops + operations_of_a_byte * work.bytes;
  return cost;
}

/// By block: what a micro-step of it takes, in operations.
std::vector<double> costs_of(const Draft& plan, const program::ModelGraph& graph) {
  const bool levels_known = !plan.recipe.memory.activation_checkpoint.is_auto();
  std::vector<double> costs;
  for (const program::BlockSpec& block : graph.blocks) {
    double cost = 0;
    for (const auto& [op, phase] : block.phases)
      if (op != program::Op::evaluate && op != program::Op::predict) cost += cost_of(phase);
    if (const auto forward = block.phases.find(program::Op::forward);
        levels_known && block.layer != program::none && forward != block.phases.end() &&
        recompute_levels(plan.recipe.memory).of(block.layer) == RecomputeLevel::full)
      cost += cost_of(forward->second);
    costs.push_back(cost);
  }
  return costs;
}

/// The first block of each layer, and of what comes behind all of them, as far as a chunk may begin
/// there: layers that are recomputed together stay together.
std::vector<int> borders_of(const Draft& plan, const program::ModelGraph& graph) {
  const std::int64_t together = plan.recipe.memory.recompute_segment;
  std::vector<int> borders;
  for (int b = 1; b < static_cast<int>(graph.blocks.size()); ++b) {
    const int layer = graph.blocks[static_cast<std::size_t>(b)].layer,
              before = graph.blocks[static_cast<std::size_t>(b) - 1].layer;
    const bool within = layer == before || (layer != program::none && before != program::none &&
                                            together > 1 && layer % together != 0);
    if (!within) borders.push_back(b);
  }
  return borders;
}

/// What a cut is judged by: its slowest chunk, then how far chunks differ.
struct Judged {
  double slowest = std::numeric_limits<double>::infinity(), squares = 0;
  auto operator<=>(const Judged&) const = default;
};

/// The borders at which chunks begin, without the first.
std::vector<int> best_borders(const std::vector<int>& borders, const std::vector<double>& costs,
                              int chunks) {
  std::vector<double> before{0};  // of all blocks before each
  for (const double cost : costs) before.push_back(before.back() + cost);
  std::vector<int> ends = borders;  // where a chunk may end
  ends.push_back(static_cast<int>(costs.size()));
  const std::size_t n = ends.size();
  // by number of chunks and by end of the last one: the best cut so far, and where that one begins
  std::vector<std::vector<Judged>> best(static_cast<std::size_t>(chunks), std::vector<Judged>(n));
  std::vector<std::vector<std::size_t>> from(best.size(), std::vector<std::size_t>(n));
  const auto cost_between = [&](int begin, int end) {
    return before[static_cast<std::size_t>(end)] - before[static_cast<std::size_t>(begin)];
  };
  for (std::size_t e = 0; e < n; ++e) {
    const double cost = cost_between(0, ends[e]);
    best[0][e] = {cost, cost * cost};
  }
  for (std::size_t c = 1; c < best.size(); ++c)
    for (std::size_t e = c; e < n; ++e)
      for (std::size_t b = c - 1; b < e; ++b) {
        const double cost = cost_between(ends[b], ends[e]);
        const Judged with{std::max(best[c - 1][b].slowest, cost),
                          best[c - 1][b].squares + cost * cost};
        if (with < best[c][e]) {
          best[c][e] = with;
          from[c][e] = b;
        }
      }
  std::vector<int> out;
  std::size_t end = n - 1;
  for (std::size_t c = best.size() - 1; c > 0; --c) {
    end = from[c][end];
    out.push_back(ends[end]);
  }
  std::ranges::reverse(out);
  return out;
}

program::PipelineShape shape_of(const Draft& plan) {
  return {plan.mesh.pipeline, static_cast<int>(plan.recipe.parallel.pipeline_chunks),
          static_cast<int>(plan.batch.grad_accum_steps)};
}

}  // namespace

bool may_take_turns(const Draft& plan, std::int64_t micro_steps) {
  return plan.mesh.pipeline == 1 || plan.recipe.parallel.pipeline_chunks == 1 ||
         micro_steps % plan.mesh.pipeline == 0;
}

std::int64_t least_micro_steps(const Draft& plan) {
  return may_take_turns(plan, 1) ? 1 : plan.mesh.pipeline;
}

std::int64_t micro_steps_under_way(const Draft& plan) {
  return plan.mesh.pipeline == 1 ? 1
                                 : 2 * plan.mesh.pipeline * plan.recipe.parallel.pipeline_chunks;
}

void require_turns(const Draft& plan) {
  if (!may_take_turns(plan, plan.batch.grad_accum_steps))
    throw UserError(ExitCode::invalid_recipe,
                    "parallel.pipeline_schedule is interleaved, which takes as many micro-steps at "
                    "a time as there are stages, and batch.grad_accum_steps is " +
                        std::to_string(plan.batch.grad_accum_steps) + ", no multiple of " +
                        std::to_string(plan.mesh.pipeline) +
                        "; write another batch.micro_batch_size or global_batch_size, or "
                        "pipeline_schedule: 1f1b");
}

program::PipelineCut pipeline_cut(const Draft& plan, const program::ModelGraph& graph) {
  require_turns(plan);
  const program::PipelineShape shape = shape_of(plan);
  const std::vector<int> borders = borders_of(plan, graph);
  const int chunks = shape.all_chunks();
  if (static_cast<int>(borders.size()) + 1 < chunks)
    throw UserError(
        ExitCode::invalid_recipe,
        "parallel.pipeline is " + std::to_string(shape.stages) +
            (shape.chunks > 1 ? " with " + std::to_string(shape.chunks) + " chunks of layers each"
                              : "") +
            ", and the model can be cut into at most " + std::to_string(borders.size() + 1) +
            " parts: each layer, what comes before and what comes behind them" +
            (plan.recipe.memory.recompute_segment > 1
                 ? ", with memory.recompute_segment layers together"
                 : "") +
            "; write a smaller number");
  program::PipelineCut cut{shape, plan.recipe.parallel.pipeline_schedule, {}};
  const std::vector<int> begins = best_borders(borders, costs_of(plan, graph), chunks);
  for (int b = 0; b < static_cast<int>(graph.blocks.size()); ++b)
    cut.chunk_of_block.push_back(
        static_cast<int>(std::ranges::upper_bound(begins, b) - begins.begin()));
  return cut;
}

void require_graphs_apart(const Draft& plan) {
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  const auto levels = recompute_levels(plan.recipe.memory).of_layer;
  const bool all_full = std::ranges::all_of(
      levels, [](RecomputeLevel level) { return level == RecomputeLevel::full; });
  if (!custom || plan.mesh.pipeline == 1 || plan.batch.grad_accum_steps == 1 || all_full) return;
  throw UserError(ExitCode::invalid_recipe,
                  "parallel.pipeline is " + std::to_string(plan.mesh.pipeline) +
                      " with several micro-steps, and modules of " + custom->options.name +
                      " keep what backward needs of one at a time; write "
                      "memory.activation_checkpoint: full");
}

double pipeline_idle_share(const Draft& plan) {
  if (plan.mesh.pipeline == 1) return 0;
  const program::PipelineShape shape = shape_of(plan);
  const bool recomputes =
      std::ranges::any_of(recompute_levels(plan.recipe.memory).of_layer,
                          [](RecomputeLevel level) { return level == RecomputeLevel::full; });
  return program::idle_share(
      program::timed(shape, program::turns_of_step(shape, plan.recipe.parallel.pipeline_schedule),
                     {.forward = 1, .backward = recomputes ? 3.0 : 2.0}));
}

std::string stages_words(const Draft& plan) {
  if (plan.mesh.pipeline == 1) return "";
  const program::PipelineShape shape = shape_of(plan);
  return "parallel.pipeline " + std::to_string(shape.stages) + ": each stage computes " +
         (shape.chunks > 1 ? std::to_string(shape.chunks) + " chunks of the layers"
                           : "some of the layers") +
         "; with " + std::to_string(shape.micro_steps) +
         " micro-steps stages wait for each other " +
         std::to_string(std::llround(100 * pipeline_idle_share(plan))) + " % of a step";
}

}  // namespace trainx::plan
