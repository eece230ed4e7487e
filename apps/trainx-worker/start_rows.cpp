#include "start_rows.hpp"
#include "core/units.hpp"
#include "plan/execution.hpp"
#include "plan/explain/run_length.hpp"
#include "plan/explain/summary.hpp"
#include "recipe/recipe.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <cstdio>
#include <utility>

namespace trainx::worker {
namespace {

bool is_default(const launch::Job& job, const std::string& key) {
  const auto origin = job.origins.find(key);
  return origin != job.origins.end() && origin->second == "default";
}

/// Why steps are launched one by one where the recipe left that open; empty: they are not.
std::string eager_words(const plan::RunPlan& plan, const launch::Job& job) {
  const auto origin = job.origins.find("run.execution");
  const bool is_written = origin != job.origins.end() && origin->second != "planned" &&
                          origin->second != "default";
  const std::string why = plan::why_eager(plan);
  return is_written || why.empty() ? "" : "run.execution auto: " + why;
}

std::string batch_words(const plan::BatchPlan& b, int ranks) {
  std::string text = std::to_string(b.global_batch_size) + " samples a step";
  if (b.grad_accum_steps == 1 && ranks == 1) return text;
  text += ": micro-batches of " + std::to_string(b.micro_batch_size);
  if (b.grad_accum_steps > 1) text += ", " + std::to_string(b.grad_accum_steps) + " accumulated";
  if (ranks > 1) text += ", " + std::to_string(ranks) + " ranks";
  return text;
}

std::string steps_words(const plan::RunPlan& plan) {
  if (plan.total_steps < 0) return "as many as fit " + human_seconds(plan.total_seconds);
  const double samples = static_cast<double>(plan.total_steps) *
                         static_cast<double>(plan.batch.global_batch_size);
  std::string text = std::to_string(plan.total_steps) + " (" +
                     plan::tokens_words(plan, plan::run_length(plan).tokens) + " tokens";
  char epochs[48];
  std::snprintf(epochs, sizeof epochs, ", %.3g epochs)",
                samples / static_cast<double>(std::max<std::int64_t>(plan.train_samples, 1)));
  return text + epochs;
}

/// "warm-up over 50 steps to 0.003, then cosine to 0.00015"
std::string lr_words(const plan::RunPlan& plan, const launch::Job& job) {
  const std::string words = plan::schedule_words(plan), course = words.substr(0, words.find(';'));
  char last[40];
  std::snprintf(last, sizeof last, " to %.4g", plan.lr_table.back());
  if (is_default(job, "schedule.type")) return course + " (default)," + (last + 3);
  return course + last;
}

std::string memory_words(const plan::MemoryPlan& memory) {
  std::string text = human_bytes(memory.total_bytes()) + " planned for the process";
  if (memory.budget_bytes > 0) text += ", of " + human_bytes(memory.budget_bytes);
  if (memory.disk_bytes > 0) text += "; " + human_bytes(memory.disk_bytes) + " on the disk";
  return text;
}

}  // namespace

std::vector<metrics::StartRow> start_rows(const plan::RunPlan& plan, const launch::Job& job) {
  const std::string samples = human_count(static_cast<double>(plan.train_samples)) +
                              " samples of up to " + std::to_string(plan.row_lengths.back()) +
                              " tokens";
  const std::string held_out = plan.eval_samples > 0
                                   ? "; evaluations use " +
                                         human_count(static_cast<double>(plan.eval_samples)) +
                                         " held-out samples"
                                   : "; no held-out data";
  std::vector<metrics::StartRow> rows{
      {"model", human_count(plan::parameter_count(plan)) + " parameters" +
                    plan::trained_words(plan) + plan::active_words(plan) + ", computed in " +
                    std::string(name_of(plan.compute))},
      {"data", samples + held_out},
      {"batch", batch_words(plan.batch, plan.mesh.ranks())},
      {"steps", steps_words(plan)},
      {"lr", lr_words(plan, job)},
      {"memory", memory_words(plan.memory)}};
  if (std::string eager = eager_words(plan, job); !eager.empty())
    rows.push_back({"eager", std::move(eager)});
  for (const std::string& choice : plan.choices)
    if (rows.size() < 8) rows.push_back({"chosen", choice});
  return rows;
}

std::vector<metrics::Setting> settings_of(const plan::RunPlan& plan, const launch::Job& job) {
  std::vector<metrics::Setting> out;
  for (const auto& [key, value] : recipe::flatten(plan.recipe)) {
    const auto origin = job.origins.find(key);
    out.push_back({key, value, origin == job.origins.end() ? "planned" : origin->second});
  }
  return out;
}

}  // namespace trainx::worker
