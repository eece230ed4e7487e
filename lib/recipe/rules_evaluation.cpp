#include "recipe/rules_evaluation.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include "options/model/encoder.hpp"

namespace trainx::recipe {
namespace {

const std::vector<std::string> of_model{"model.type", "model.options.task"};

/// Which metrics evaluations of a model have, in words.
std::string metrics_of(options::Task task, bool numbers, bool sums_correct) {
  if (numbers) return "loss";
  if (task == options::Task::classification) return "loss, accuracy or f1";
  if (options::has_labels(task)) return "loss or accuracy";
  return sums_correct ? "loss, perplexity or accuracy" : "loss or perplexity";
}

bool has_metric(BestMetric metric, options::Task task, bool numbers, bool sums_correct) {
  if (numbers) return metric == BestMetric::loss;
  const bool classes = task == options::Task::classification;
  switch (metric) {
    case BestMetric::loss: return true;
    case BestMetric::perplexity: return !options::has_labels(task);
    case BestMetric::f1: return classes;
    case BestMetric::accuracy: return classes || sums_correct;
  }
  return false;
}

/// Is what is learned of a sample some numbers? A folder may say so, too, which is not seen here.
bool learns_numbers(const options::ModelOptions& options) {
  return std::visit(
      []<class Options>(const Options& o) {
        if constexpr (options::Encoder<Options>) {
          using options::ProblemType;
          return o.task == options::Task::classification &&
                 o.problem_type.value.value_or(ProblemType::single_label_classification) !=
                     ProblemType::single_label_classification;
        }
        return false;
      },
      options);
}

}  // namespace

std::vector<BrokenRule> broken_evaluation_rules(const Recipe& r, bool held_out) {
  std::vector<BrokenRule> broken;
  const EvalBestSection& best = r.eval.best;
  const EarlyStoppingSection& stop = r.eval.early_stopping;
  const auto needs_data = [&](bool set, const std::string& key) {
    if (set && !held_out)
      broken.push_back({key,
                        "can have no effect: data.eval names no held-out data",
                        {"data.eval", "data.type", "data.sources"}});
  };
  needs_data(!r.eval.batches.is_all(), "eval.batches");
  needs_data(best.metric != BestMetric::loss, "eval.best.metric");
  needs_data(!best.goal.is_auto(), "eval.best.goal");
  needs_data(stop.patience.has_value(), "eval.early_stopping.patience");
  const bool averages = r.eval.weights == EvalWeights::average;
  needs_data(averages, "eval.weights");
  if (averages && !r.optimizer.ema_decay)
    broken.push_back({"eval.weights",
                      "is average, and no average is kept: give optimizer.ema_decay, e.g. 0.999",
                      {"optimizer.ema_decay"}});
  if (!stop.patience && stop.min_delta != 0)
    broken.push_back(
        {"eval.early_stopping.min_delta",
         "can have no effect without eval.early_stopping.patience: give it, or remove min_delta",
         {"eval.early_stopping.patience"}});
  const options::Task task = options::task(r.model.options);
  const bool sums_correct = std::visit(
      []<class Options>(const Options&) { return options::Encoder<Options>; }, r.model.options);
  const bool numbers = learns_numbers(r.model.options);
  if (!has_metric(best.metric, task, numbers, sums_correct))
    broken.push_back({"eval.best.metric",
                      "is " + write_value(best.metric) + ", which evaluations of " +
                          alternative_name(r.model.options) + " for " +
                          std::string(options::name_of(task)) + " do not have: write " +
                          metrics_of(task, numbers, sums_correct),
                      of_model});
  return broken;
}

std::vector<BrokenRule> broken_generation_rules(const Recipe& r) {
  std::vector<BrokenRule> broken;
  const GenerateSection& g = r.generate;
  const std::string without = "can have no effect without generate.every, e.g. `100 steps`";
  if (!g.every) {
    if (g.prompt) broken.push_back({"generate.prompt", without, {"generate.every"}});
    if (g.tokens != GenerateSection{}.tokens)
      broken.push_back({"generate.tokens", without, {"generate.every"}});
    return broken;
  }
  const auto refuse = [&](bool wrong, const std::string& sentence, std::vector<std::string> also) {
    if (wrong) broken.push_back({"generate.every", sentence, std::move(also)});
  };
  refuse(g.every->amount <= 0, "must be greater than 0 (did you mean null?)", {});
  refuse(!g.prompt || g.prompt->empty(), "needs generate.prompt, the text to continue",
         {"generate.prompt"});
  const options::Task task = options::task(r.model.options);
  refuse(task != options::Task::causal_lm,
         "needs a model for causal_lm, which goes on with a text: one for " +
             std::string(options::name_of(task)) +
             (task == options::Task::seq2seq
                  ? " writes another, which `trainx generate` does with checkpoints"
                  : " writes no text"),
         of_model);
  refuse(std::holds_alternative<options::CustomOptions>(r.model.options),
         "can have no effect with " + alternative_name(r.model.options) +
             ": models of your own do not generate",
         of_model);
  const auto& mode = r.parallel.mode.value;
  refuse(mode && zero_stage(*mode) > 0,
         "needs all weights on one rank, and parallel.mode: " +
             (mode ? write_value(*mode) : std::string()) +
             " keeps them in shards: leave generate out, and use `trainx generate` on checkpoints",
         {"parallel.mode"});
  return broken;
}

}  // namespace trainx::recipe
