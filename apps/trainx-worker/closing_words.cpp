#include "closing_words.hpp"
#include "core/units.hpp"
#include "recipe/value.hpp"
#include "status.hpp"
#include <cstdio>

namespace trainx::worker {
namespace {

std::string format(const char* pattern, double x) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, x);
  return text;
}

/// "10 of 26 batches"
std::string evaluated(const plan::RunPlan& plan, std::int64_t held_out_samples) {
  const std::int64_t batch = plan.batch.global_batch_size;
  const auto batches = [&](std::int64_t samples) {
    return std::to_string((samples + batch - 1) / batch);
  };
  return (plan.eval_samples < held_out_samples ? batches(plan.eval_samples) + " of " : "all ") +
         batches(held_out_samples) + " batches";
}

/// "best held-out loss 3.4582 at step 300, on 10 of 26 batches"; empty before the first evaluation.
std::string best_words(const launch::Job& job, const plan::RunPlan& plan,
                       const train::TrainState& state, const std::optional<double>& floor) {
  if (!state.best_value) return "";
  const recipe::BestMetric metric = plan.recipe.eval.best.metric;
  std::string text = "best held-out " + recipe::write_value(metric) +
                     format(" %.4f", *state.best_value) + " at step " +
                     std::to_string(state.best_step) + ", on " +
                     evaluated(plan, job.facts.data.eval_samples);
  if (floor && metric == recipe::BestMetric::loss)
    text +=
        format("; %.1f %% above the data's entropy of", 100 * (*state.best_value / *floor - 1)) +
        format(" %.4f", *floor);
  return text + "\n";
}

}  // namespace

std::string early_words(const plan::RunPlan& plan, const train::TrainState& state) {
  const auto& patience = plan.recipe.eval.early_stopping.patience;
  if (!patience || state.stale_evaluations < *patience) return "";
  return "early stopping: " + std::to_string(state.stale_evaluations) +
         " evaluations without a better held-out " +
         recipe::write_value(plan.recipe.eval.best.metric) + " (best at step " +
         std::to_string(state.best_step) + ")";
}

std::string closing_words(const launch::Job& job, const plan::RunPlan& plan,
                          const train::RunFolder& folder, const train::TrainState& state,
                          const std::optional<double>& floor) {
  const architectures::ModelDims& dims = plan.dims;
  const metrics::RunStatus rates = run_status(plan, state);
  std::string text = "trained " + std::to_string(state.step) + " steps in " +
                     human_seconds(state.seconds) + " (" + format("epoch %.2f, ", rates.epoch) +
                     human_count(rates.samples_per_second) + " samples/s); the " +
                     (plan.adapter ? "adapter" : "model") + " is in " + folder.file("latest") +
                     (plan.adapter ? " (a folder of PEFT)" : " (a Hugging Face folder)") +
                     ", the log in " + folder.file("metrics.jsonl") + "\n";
  if (const std::string early = early_words(plan, state); !early.empty()) text += early + "\n";
  text += best_words(job, plan, state, floor);
  const std::string more = "train on: the same command with a longer run.duration";
  if (plan.adapter && !plan.recipe.model.init_from)
    return text +
           "the adapter adds to weights drawn from run.seed, which no folder holds: generate, eval "
           "and export --merge need a run with model.init_from\nnext: " +
           more;
  const bool generates = architectures::task(dims) == architectures::Task::causal_lm &&
                         !std::holds_alternative<architectures::CustomDims>(dims);
  const std::string next = generates
                               ? "generate " + folder.path() + " --prompt " +
                                     (job.facts.data.entropy_floor_nats ? "\"Once\"" : "\"...\"")
                               : "export " + folder.path() + " FOLDER";
  return text + "next: trainx " + next + "   or " + more;
}

}  // namespace trainx::worker
