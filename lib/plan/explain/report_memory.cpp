// Memory of a rank, and checkpoints.
#include "core/units.hpp"
#include "plan/checkpoint_size.hpp"
#include "plan/choose/offload.hpp"
#include "plan/explain/report_sections.hpp"
#include "plan/explain/saved_by_levers.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

void tell_categories(const RunPlan& plan, ReportSection& s) {
  const MemoryPlan& memory = plan.memory;
  s.give("arena_bytes", memory.arena_bytes);
  s.give("library_bytes", memory.library_bytes);
  s.give("process_bytes", memory.process_bytes);
  std::string text;
  auto all = nlohmann::json::array();
  for (const auto& [name, bytes] : memory.categories) {
    if (bytes != 0) text += row(name, human_bytes(bytes));
    all.push_back({{"category", name}, {"bytes", bytes}});
  }
  if (!all.empty()) s.both("memory", all, text);
  text.clear(), all.clear();
  for (const auto& [name, saved] : saved_by_levers(plan)) {
    text += row(name,
                saved > 0 ? "saves " + human_bytes(saved) : "saves nothing: the peak is elsewhere");
    all.push_back({{"by", name}, {"bytes", saved}});
  }
  if (!all.empty()) s.both("saved", all, text);
}

/// What lies on the host, and what a step copies there and back.
void tell_host(const RunPlan& plan, ReportSection& s) {
  const MemoryPlan& memory = plan.memory;
  const program::StepProgram& p = plan.role().train.back().program;
  const bool any = memory.host_bytes > 0;
  const std::string unknown = plan.rates && plan.rates->host_bytes_per_s <= 0
                                  ? " (copy rate not measured on this GPU)"
                                  : "";
  const auto if_any = [&](const std::string& text) { return any ? text : ""; };
  s.both("host_bytes", memory.host_bytes,
         if_any(row("on the host",
                    human_bytes(memory.host_bytes) +
                        (plan.on_gpu ? " of pinned memory"
                                     : " of the same memory, in an arena of its own"))));
  s.give("beside_host_bytes", memory.beside_host_bytes);
  std::string text;
  auto all = nlohmann::json::array();
  for (const auto& [name, bytes] : memory.on_host) {
    if (plan.on_gpu) text += row("  " + name, human_bytes(bytes));
    all.push_back({{"category", name}, {"bytes", bytes}});
  }
  if (!all.empty()) s.both("on_host", all, if_any(text));
  const std::int64_t moved = offloaded_bytes(p);
  s.both("offloaded_bytes", moved,
         moved > 0 ? if_any(row("offloaded activations",
                                "a step copies " + human_bytes(moved) + " out and back" + unknown))
                   : "");
  if (const OptimizerCopies copies = optimizer_copies(p); copies.gradients_out > 0)
    s.both("optimizer_copies",
           {{"gradients_out", copies.gradients_out},
            {"weights_back", copies.weights_back},
            {"from_disk", copies.disk.from},
            {"to_disk", copies.disk.to}},
           if_any(row("optimizer on the host",
                      "a step copies " + human_bytes(copies.gradients_out) + " of gradients " +
                          (rounds_gradients(plan) ? "in bf16 " : "") + "out" +
                          (copies.weights_back > 0
                               ? " and " + human_bytes(copies.weights_back) + " of weights back"
                               : "") +
                          unknown + "; the CPU updates")));
  if (const ParameterCopies copies = parameter_copies(p); copies.in > 0)
    s.both(
        "parameter_copies",
        {{"in", copies.in},
         {"out", copies.out},
         {"from_disk", copies.disk.from},
         {"to_disk", copies.disk.to}},
        if_any(row(
            "offloaded weights",
            "a step copies " + human_bytes(copies.in) + " in, a block ahead of its use" +
                (weights_on_disk(plan) ? ", once it is read from the disk" : "") +
                (copies.out > 0 ? ", and " + human_bytes(copies.out) + " back from updates" : "") +
                unknown)));
}

void tell_disk(const RunPlan& plan, ReportSection& s) {
  if (plan.memory.disk_bytes == 0) return;
  const program::StepProgram& p = plan.role().train.back().program;
  const DiskCopies states = optimizer_copies(p).disk, weights = parameter_copies(p).disk;
  s.both(
      "disk_bytes", plan.memory.disk_bytes,
      row("on the disk",
          human_bytes(plan.memory.disk_bytes) + " in " + facts::offload_folder_of(plan.recipe) +
              (plan.disk_free_bytes ? ", where " + human_bytes(*plan.disk_free_bytes) + " are free"
                                    : "") +
              "; a step reads " + human_bytes(states.from + weights.from) + " and writes " +
              human_bytes(states.to + weights.to) +
              (plan.rates && plan.rates->disk_bytes_per_s <= 0 ? " (rate not measured)" : "")));
}

/// Nothing where no weights are shared.
void tell_shared(const RunPlan& plan, ReportSection& s) {
  const MemoryPlan& memory = plan.memory;
  if (memory.shared_bytes == 0) return;
  const std::int64_t of_others = memory.of_other_ranks_bytes + memory.on_host_of_other_ranks_bytes;
  s.both("shared_weights",
         {{"bytes", memory.shared_bytes},
          {"ranks", plan.local_ranks},
          {"of_other_ranks_bytes", of_others}},
         row("shared weights", human_bytes(memory.shared_bytes) + " that are frozen: the " +
                                   std::to_string(plan.local_ranks) +
                                   " ranks of a host hold them once"));
}

}  // namespace

ReportSection memory_section(const RunPlan& plan) {
  ReportSection s{"memory per rank", {}};
  tell_categories(plan, s);
  tell_host(plan, s);
  tell_disk(plan, s);
  tell_shared(plan, s);
  if (const auto& groups = plan.role().train.back().graph.groups; offloads_optimizer(plan))
    s.give("optimizer_groups", {{"all", groups.size()},
                                {"on_device", plan.groups_on_device},
                                {"on_disk", std::ranges::count(optimizer_locations(plan, groups),
                                                               passes::OptimizerLocation::disk)}});
  const std::int64_t total = plan.memory.total_bytes(), budget = plan.memory.budget_bytes;
  s.both("total_bytes", total, row("total", human_bytes(total) + " of " + human_bytes(budget)));
  s.give("budget_bytes", budget);
  return s;
}

ReportSection checkpoints_section(const RunPlan& plan) {
  ReportSection s{"checkpoints, on the disk", {}};
  const CheckpointSize saved = checkpoint_size(plan);
  s.both("checkpoints/each_bytes", saved.each_bytes, row("each", human_bytes(saved.each_bytes)));
  s.give("checkpoints/most", saved.most);
  s.both(
      "checkpoints/most_bytes", saved.most_bytes(),
      row("most at a time",
          human_bytes(saved.most_bytes()) + ": " + std::to_string(saved.most) +
              (saved.is_all_written
                   ? ", all that the run writes"
                   : " (checkpoint.keep_last " + std::to_string(plan.recipe.checkpoint.keep_last) +
                         (plan.eval_samples > 0 ? ", best" : "") + " and the one being written)")));
  return s;
}

}  // namespace trainx::plan
