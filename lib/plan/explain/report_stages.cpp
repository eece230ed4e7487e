// What each stage of a pipeline computes and takes.
#include "core/units.hpp"
#include "plan/explain/human_time.hpp"
#include "plan/explain/percent.hpp"
#include "plan/explain/report_sections.hpp"
#include "plan/stages.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

/// "embedding, layers 0 to 6": what a stage computes, chunk after chunk.
std::string layers_words(const program::ModelGraph& graph, const program::PipelineCut& cut,
                         int stage) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
  const int blocks = static_cast<int>(graph.blocks.size());
  for (int b = 0; b < blocks;) {
    const program::BlockSpec& block = graph.blocks[static_cast<std::size_t>(b)];
    const int chunk = cut.chunk_of_block[static_cast<std::size_t>(b)];
    const bool in_layer = block.layer != program::none;
    int last = b;
    while (last + 1 < blocks && cut.chunk_of_block[static_cast<std::size_t>(last) + 1] == chunk &&
           (graph.blocks[static_cast<std::size_t>(last) + 1].layer != program::none) == in_layer)
      ++last;
    if (cut.shape.stage_of(chunk) == stage) {
      const int first = block.layer, end = graph.blocks[static_cast<std::size_t>(last)].layer;
      if (!in_layer)
        add(block.name);
      else
        add(first == end ? "layer " + std::to_string(first)
                         : "layers " + std::to_string(first) + " to " + std::to_string(end));
    }
    b = last + 1;
  }
  return words;
}

}  // namespace

ReportSection stages_section(const RunPlan& plan) {
  ReportSection s{"stages of layers", {}};
  if (plan.mesh.pipeline == 1) return s;
  const program::ModelGraph& graph = plan.role().train.back().graph;
  const program::PipelineCut cut = pipeline_cut(plan, graph);
  auto all = nlohmann::json::array();
  std::string text;
  for (const RankRole& role : plan.program_set.roles) {
    const std::string layers = layers_words(graph, cut, role.stage);
    const std::int64_t bytes = role.memory.total_bytes();
    nlohmann::json of_stage{{"stage", role.stage},
                            {"first_rank", role.first_rank},
                            {"layers", layers},
                            {"memory_bytes", bytes}};
    std::string words = layers + "; " + human_bytes(bytes);
    if (role.time) {
      of_stage["busy_ms"] = role.time->step_s * 1e3;
      words += "; busy for " + human_time(role.time->step_s);
    }
    all.push_back(std::move(of_stage));
    text += row("stage " + std::to_string(role.stage), words);
  }
  s.both("pipeline/stages", std::move(all), text);
  s.give("pipeline/schedule", recipe::write_value(plan.recipe.parallel.pipeline_schedule));
  s.give("pipeline/chunks", plan.recipe.parallel.pipeline_chunks);
  s.give("pipeline/micro_steps", plan.batch.grad_accum_steps);
  const double idle = plan.time ? plan.pipeline_idle_share : pipeline_idle_share(plan);
  s.both("pipeline/idle_share", idle,
         row("waiting", percent(idle) + " of the stages' time, with " +
                            std::to_string(plan.batch.grad_accum_steps) + " micro-steps"));
  return s;
}

}  // namespace trainx::plan
