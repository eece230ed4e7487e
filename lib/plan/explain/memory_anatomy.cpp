#include "plan/explain/memory_anatomy.hpp"
#include "plan/explain/printed.hpp"
#include "core/error.hpp"
#include "plan/bytes_per_parameter.hpp"
#include "plan/memory_plan.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::plan {
namespace {

constexpr double gigabyte = 1e9;

bool alive(std::span<const program::Interval> intervals, int position) {
  return std::ranges::any_of(intervals, [&](const program::Interval& i) {
    return i.first <= position && position <= i.last;
  });
}

std::string padded(std::string cell, std::size_t width, bool right = true) {
  if (cell.size() < width) cell.insert(right ? 0 : cell.size(), width - cell.size(), ' ');
  return cell;
}

std::string line(const std::string& name, std::initializer_list<std::string> cells) {
  std::string out = "  " + padded(name, 36, false);
  for (const std::string& cell : cells) out += " " + padded(cell, 12);
  return out + "\n";
}

/// Of this recipe, for each parameter of the model: the exact weights in all their parts, states
/// and gradients.
ParameterBytes of_recipe(const RunPlan& plan, const std::vector<MemoryRow>& rows,
                         double parameters) {
  const auto measured = [&](const std::string& name) {
    for (const MemoryRow& r : rows)
      if (r.name == name) return static_cast<double>(r.measured) / parameters;
    return 0.0;
  };
  const char* master = plan.master == program::Master::split  ? ", split master"
                       : plan.master == program::Master::fp32 ? ", fp32 master"
                                                              : "";
  const std::string name = "this recipe, measured: " + std::string(name_of(plan.compute)) + master;
  return {name, measured("weights") + measured("master weights"), measured("optimizer state"),
          measured("gradients")};
}

/// The model's parameters as tensors, without padding.
std::vector<TensorCount> tensors_of(const program::ModelGraph& graph) {
  std::vector<TensorCount> all;
  for (const auto& group : graph.groups)
    for (const auto& p : group.parameters) {
      TensorCount t;
      for (const std::int64_t d : p.saved_dims) t.rows *= t.columns, t.columns = d;
      all.push_back(t);
    }
  return all;
}

}  // namespace

std::vector<MemoryRow> memory_anatomy(const RunPlan& plan, const MeasuredMemory& measured) {
  using program::Role;
  const PlacedProgram& train = plan.role().train.back();
  const auto& buffers = train.program.buffers;
  if (measured.operand_bytes.size() != buffers.size())
    throw InternalError("memory_anatomy: the program has " + std::to_string(buffers.size()) +
                        " buffers, " + std::to_string(measured.operand_bytes.size()) +
                        " were measured");
  const int peak = program::peak_use(train.program).position;
  const auto lives = program::lifetimes(train.program);
  program::PeakUse used;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].space != program::Space::device || !alive(lives[b], peak)) continue;
    used.by_role[static_cast<std::size_t>(buffers[b].role)] += measured.operand_bytes[b];
  }
  const auto of = [&](Role role) { return used.of(role); };
  const std::vector<std::int64_t> values{
      of(Role::parameter), of(Role::master), of(Role::gradient), of(Role::state),
      // as plan.memory has them
      of(Role::value) + of(Role::saved), of(Role::value_gradient),
      of(Role::scratch) + of(Role::transit), of(Role::batch) + used.of_scalars()};
  std::vector<MemoryRow> rows;
  std::int64_t placed = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    rows.push_back(
        {plan.memory.categories.at(k).first, plan.memory.categories.at(k).second, values[k]});
    placed += values[k];
  }
  const std::int64_t in_fp8 = of(Role::cast_weight);
  rows.push_back({"alignment and gaps", plan.memory.categories.at(values.size()).second,
                  measured.arena_bytes - placed - in_fp8});
  for (const auto& [name, predicted] : plan.memory.categories)
    if (name == cast_weights_category) rows.push_back({name, predicted, in_fp8});
  rows.push_back({plan.on_gpu ? "library workspace" : "library calls", plan.memory.library_bytes,
                  measured.peak_bytes - measured.arena_bytes});
  rows.push_back({plan.on_gpu ? "context and kernels" : "process", plan.memory.process_bytes,
                  measured.process_bytes - measured.peak_bytes});
  return rows;
}

std::string describe_memory(const RunPlan& plan, const std::vector<MemoryRow>& rows) {
  const auto tensors = tensors_of(plan.role().train.back().graph);
  const double n = parameters_of(tensors);
  std::string out = line("memory", {"predicted", "measured"});
  MemoryRow whole;
  for (const MemoryRow& r : rows) {
    if (r.predicted != 0 || r.measured != 0)
      out += line(r.name, {human_bytes(r.predicted), human_bytes(r.measured)});
    whole.predicted += r.predicted, whole.measured += r.measured;
  }
  out += line("whole", {human_bytes(whole.predicted), human_bytes(whole.measured)});
  out += line("bytes for each of " + human_count(n) + " parameters",
              {"weights", "optimizer", "gradients", "together", "GB"});
  auto rules = rules_of_thumb();
  rules.push_back(of_recipe(plan, rows, n));
  for (const ParameterBytes& p : rules)
    out += line(p.name, {printed("%.3g", p.weights), printed("%.3g", p.optimizer),
                         printed("%.3g", p.gradients), printed("%.3g", p.total()),
                         printed("%.3g", p.total() * n / gigabyte)});
  out += line("optimizer", {"bytes each", "3B, GB", "t5-3b, GB", "this one, GB"});
  const auto of_t5 = optimizer_table(t5_3b()), of_this = optimizer_table(tensors);
  for (std::size_t k = 0; k < of_t5.size(); ++k)
    out += line(
        of_t5[k].name,
        {printed("%.0f", of_t5[k].per_parameter) + (of_t5[k].extra_bytes > 0 ? " +" : ""),
         printed("%.0f", 3 * of_t5[k].per_parameter) + (of_t5[k].extra_bytes > 0 ? " +" : ""),
         printed("%.2f", of_t5[k].bytes / gigabyte), printed("%.3g", of_this[k].bytes / gigabyte)});
  return out;
}

nlohmann::json memory_json(const RunPlan& plan, const std::vector<MemoryRow>& rows) {
  const auto tensors = tensors_of(plan.role().train.back().graph);
  const double n = parameters_of(tensors);
  nlohmann::json j{{"parameters", n}};
  std::int64_t predicted = 0, measured = 0;
  for (const MemoryRow& r : rows) {
    j["memory"].push_back(
        {{"category", r.name}, {"predicted_bytes", r.predicted}, {"measured_bytes", r.measured}});
    predicted += r.predicted, measured += r.measured;
  }
  j["predicted_bytes"] = predicted;
  j["measured_bytes"] = measured;
  auto rules = rules_of_thumb();
  rules.push_back(of_recipe(plan, rows, n));
  for (const ParameterBytes& p : rules)
    j["bytes_per_parameter"].push_back({{"name", p.name},
                                        {"weights", p.weights},
                                        {"optimizer", p.optimizer},
                                        {"gradients", p.gradients},
                                        {"total", p.total()},
                                        {"bytes", p.total() * n}});
  for (const auto& [model, table] : {std::pair("t5-3b", optimizer_table(t5_3b())),
                                     std::pair("this model", optimizer_table(tensors))})
    for (const OptimizerBytes& o : table)
      j["optimizers"].push_back({{"model", model},
                                 {"name", o.name},
                                 {"bytes_per_parameter", o.per_parameter},
                                 {"extra_bytes", o.extra_bytes},
                                 {"bytes", o.bytes},
                                 {"gb_of_3b", 3 * o.per_parameter}});
  return j;
}

}  // namespace trainx::plan
