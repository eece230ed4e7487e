#include "plan/explain/summary.hpp"
#include "architectures/active_parameters.hpp"
#include "recipe/walk.hpp"
#include <cstdio>

namespace trainx::plan {

namespace {

double parameters_of(const program::GroupSpec& group) {
  double n = 0;
  for (const auto& p : group.parameters) {
    double saved = 1;
    for (const std::int64_t d : p.saved_dims) saved *= static_cast<double>(d);
    n += saved;
  }
  return n;
}

}  // namespace

bool counts_flops(const RunPlan& plan) {
  return !std::holds_alternative<architectures::CustomDims>(plan.dims);
}

double parameter_count(const RunPlan& plan) {
  double n = 0;
  for (const auto& g : plan.role().train.back().graph.groups) n += parameters_of(g);
  return n;
}

double trained_parameter_count(const RunPlan& plan) {
  double n = 0;
  for (const auto& g : plan.role().train.back().graph.groups)
    if (g.training.trained) n += parameters_of(g);
  return n;
}

std::string trained_words(const RunPlan& plan) {
  const double trained = trained_parameter_count(plan);
  return trained < parameter_count(plan) ? " (" + human_count(trained) + " trained)" : "";
}

double active_parameter_count(const RunPlan& plan) {
  return parameter_count(plan) - architectures::idle_parameters(plan.role().train.back().graph);
}

std::string active_words(const RunPlan& plan) {
  const double active = active_parameter_count(plan);
  return active < parameter_count(plan) ? ", of which " + human_count(active) + " compute a token"
                                        : "";
}

std::string schedule_words(const RunPlan& plan) {
  const recipe::ScheduleSection& schedule = plan.recipe.schedule;
  const auto steps = [](std::int64_t n) {
    return std::to_string(n) + (n == 1 ? " step" : " steps");
  };
  const auto rate = [](double lr) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", lr);
    return std::string(text);
  };
  std::string out = plan.schedule.warmup > 0
                        ? "warm-up over " + steps(plan.schedule.warmup) + " to " +
                              rate(plan.recipe.optimizer.lr) + ", then "
                        : "";
  out += recipe::alternative_name(schedule.course);
  if (plan.schedule.decay > 0) out += ", decay over the last " + steps(plan.schedule.decay);
  if (plan.schedule.timescale > 0) out += " over " + steps(plan.schedule.timescale);
  if (const auto* restarts = std::get_if<options::CosineRestartsSchedule>(&schedule.course))
    out += ", " + std::to_string(restarts->cycles) + (restarts->cycles == 1 ? " cycle" : " cycles");
  return out + "; " + rate(plan.lr_table.front()) + " in the first step, " +
         rate(plan.lr_table.back()) + " in the last";
}

}  // namespace trainx::plan
