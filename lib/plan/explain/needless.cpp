#include "plan/explain/needless.hpp"
#include "core/error.hpp"
#include "plan/choose/degrees.hpp"
#include "plan/explain/human_time.hpp"
#include "plan/choose/offload.hpp"
#include "plan/limits.hpp"
#include "plan/choose/evaluator.hpp"
#include "core/units.hpp"
#include "plan/explain/percent.hpp"
#include "plan/explain/printed.hpp"
#include "recipe/rules.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace trainx::plan {
namespace {

// A smaller cost is below what the prediction is good for.
constexpr double least_cost = 0.01;

struct Lever {
  Needless told;
  std::function<void(Decisions&)> take_away;
  bool saves_nothing = false;  // told only if the run takes no more memory without it
  // its cost is that of copies between GPU and host, or between ranks
  bool copies = false;
};

std::vector<Lever> levers_of(const RunPlan& plan) {
  std::vector<Lever> out;
  const recipe::MemorySection& memory = plan.recipe.memory;
  const auto add = [&](std::string key, std::string now, std::string better, bool copies,
                       std::function<void(Decisions&)> take_away) {
    Lever& lever = out.emplace_back();
    lever.told.key = std::move(key), lever.told.now = std::move(now),
    lever.told.better = std::move(better);
    lever.take_away = std::move(take_away);
    lever.copies = copies;
    return &lever;
  };
  if (memory.recompute_segment > 1)
    add("memory.recompute_segment", std::to_string(memory.recompute_segment), "1", false,
        [](Decisions& c) { c.segment = 1; })
        ->saves_nothing = true;
  if ((plan.on_gpu && !plan.rates) || std::holds_alternative<architectures::CustomDims>(plan.dims))
    return out;
  // what is not recomputed is copied then
  const bool copied = memory.activation_offload != recipe::ActivationOffload::none;
  const auto& levels = *memory.activation_checkpoint.value;
  if (std::ranges::any_of(levels, [](RecomputeLevel l) { return l != RecomputeLevel::none; }))
    add("memory.activation_checkpoint",
        levels.size() == 1 ? recipe::write_value(levels.front()) : "a level for each layer", "none",
        copied, [](Decisions& c) {
          c.levels = {RecomputeLevel::none};
          c.segment = 1;
        });
  if (memory.activation_offload != recipe::ActivationOffload::none)
    add("memory.activation_offload", recipe::write_value(memory.activation_offload), "none", true,
        [](Decisions& c) { c.activations = recipe::ActivationOffload::none; });
  if (offloads_optimizer(plan))
    add("memory.optimizer_offload", recipe::write_value(memory.optimizer_offload.where), "none",
        true, [](Decisions& c) {
          c.optimizer = recipe::OptimizerOffload::none;
          c.groups_on_device = c.groups_on_disk = 0;
        });
  if (offloads_weights(plan))
    add("memory.parameter_offload", recipe::write_value(memory.parameter_offload), "none", true,
        [](Decisions& c) { c.weights = recipe::ParameterOffload::none; });
  if (plan.zero_stage() > 0)
    add("parallel.mode", recipe::write_value(plan.mode), "ddp", true, [](Decisions& c) {
      c.mode = recipe::ParallelMode::ddp;
      c.shard = 1;
      c.turns_kept = 0;
    });
  return out;
}

struct WithoutLever {
  Decisions choice;
  Evaluation takes;
  bool fits = false;
};

/// `now` without the lever.
WithoutLever weigh_without(Evaluator& evaluator, const Decisions& now, const Lever& lever) {
  WithoutLever w{now, {}};
  lever.take_away(w.choice);
  w.takes = evaluator.of(w.choice);
  const std::int64_t budget = evaluator.problem().budget_bytes;
  w.fits = budget > 0 && w.takes.bytes <= budget;
  return w;
}

bool knows_cost(const RunPlan& plan, const Lever& lever) {
  if (!plan.step_rates) return false;
  if (!lever.copies) return true;
  return (lever.told.key == "parallel.mode" ? plan.step_rates->link_bytes_per_s > 0
                                            : plan.step_rates->host_bytes_per_s > 0);
}

/// A run of the same global batch in which no ranks share a batch along one axis.
struct WithoutSharing {
  Decisions choice;
  Evaluation takes;
  std::int64_t budget_bytes = 0;
};

/// `now` with other degrees, and as many tokens for each rank where the batch allows it; nothing:
/// the run cannot have them.
std::optional<WithoutSharing> weigh_degrees(const RunPlan& plan, const Decisions& now,
                                            const Degrees& degrees, const DraftOf& draft_of) {
  recipe::Recipe recipe = with_degrees(plan.recipe, degrees);
  recipe.batch = {plan.batch.global_batch_size, {}, {}};
  if (plan.mesh.shard == plan.mesh.row_ranks()) recipe.parallel.shard_ranks = {};
  if (!recipe::parallel_problems(recipe).empty()) return std::nullopt;
  try {
    const Drafted drafted = draft_of(recipe);
    Evaluator evaluator(drafted.plan, drafted.rates());
    Decisions choice = now;
    choice.tensor = degrees.tensor, choice.context = degrees.context;
    choice.pipeline = degrees.pipeline;
    if (plan.mesh.shard == plan.mesh.row_ranks()) choice.shard = drafted.plan.mesh.shard;
    const int more = now.tensor * now.context / (degrees.tensor * degrees.context);
    choice.micro_batch_size = std::max<std::int64_t>(1, now.micro_batch_size / more);
    while (evaluator.samples() % choice.micro_batch_size != 0) --choice.micro_batch_size;
    return WithoutSharing{choice, evaluator.of(choice), drafted.plan.budget_bytes};
  } catch (const UserError& refused) {
    if (refused.code() != ExitCode::invalid_recipe) throw;
    return std::nullopt;
  }
}

/// Of ranks that share a batch though each has room for one of its own.
void tell_degrees(std::vector<Needless>& out, const RunPlan& plan, Decisions now, Evaluation takes,
                  const DraftOf& draft_of) {
  const double whole_s = takes.seconds;
  for (const auto& [key, axis] : {std::pair{"parallel.tensor", &Degrees::tensor},
                                  {"parallel.context", &Degrees::context},
                                  {"parallel.pipeline", &Degrees::pipeline}}) {
    Degrees degrees{now.tensor, now.context, now.pipeline};
    const int number = degrees.*axis;
    if (number == 1) continue;
    degrees.*axis = 1;
    const auto w = weigh_degrees(plan, now, degrees, draft_of);
    if (!w || w->budget_bytes <= 0 || w->takes.bytes > w->budget_bytes ||
        takes.seconds - w->takes.seconds < least_cost * whole_s || w->takes.seconds <= 0)
      continue;
    Needless& told = out.emplace_back();
    told.key = key, told.now = std::to_string(number), told.better = "1";
    told.gain_s = takes.seconds - w->takes.seconds;
    told.share = told.gain_s / whole_s;
    told.more_bytes = w->takes.bytes - takes.bytes;
    Decisions same = now;
    same.tensor = w->choice.tensor, same.context = w->choice.context;
    same.pipeline = w->choice.pipeline, same.shard = w->choice.shard;
    const std::string changes = changes_of(w->choice, same, ", ");
    told.reason = "the run fits without it" + (changes.empty() ? "" : ", with " + changes) + ": " +
                  human_bytes(w->takes.bytes) + " of " + human_bytes(w->budget_bytes);
    now = w->choice, takes = w->takes;
  }
}

}  // namespace

std::vector<Needless> needless_levers(const RunPlan& plan, const DraftOf& draft_of) {
  std::vector<Needless> out;
  std::vector<Lever> levers = levers_of(plan);
  const bool weighs_degrees = draft_of && plan.recipe.parallel.batch_ranks() > 1 &&
                              plan.step_rates && plan.step_rates->link_bytes_per_s > 0;
  if ((levers.empty() && !weighs_degrees) || plan.row_lengths.empty() ||
      layers_of(plan.dims) > most_searched_layers)
    return out;
  Evaluator evaluator(plan, plan.step_rates ? &*plan.step_rates : nullptr);
  Decisions now = decisions_of(plan);
  Evaluation takes = evaluator.of(now);
  const double whole_s = takes.seconds;
  const auto take = [&](const Lever& lever, WithoutLever w) {
    Needless& told = out.emplace_back(lever.told);
    const bool known = knows_cost(plan, lever);
    told.gain_s = known ? std::max(0.0, takes.seconds - w.takes.seconds) : 0;
    told.share = whole_s > 0 ? told.gain_s / whole_s : 0;
    told.more_bytes = w.takes.bytes - takes.bytes;
    told.reason = lever.saves_nothing ? "layers recomputed together save no memory here"
                                      : "the run fits without it: " + human_bytes(w.takes.bytes) +
                                            " of " + human_bytes(plan.memory.budget_bytes);
    if (!known && !lever.saves_nothing)
      told.reason += plan.on_gpu ? "; what it costs was not measured on this GPU"
                                 : "; what it costs is not predicted for CPUs";
    now = std::move(w.choice);
    takes = w.takes;
  };
  if (!levers.empty() &&
      levers.front().saves_nothing) {  // whether or not recomputation itself is needed
    if (WithoutLever w = weigh_without(evaluator, now, levers.front());
        w.takes.bytes <= takes.bytes && w.takes.seconds <= takes.seconds)
      take(levers.front(), std::move(w));
    levers.erase(levers.begin());
  }
  while (!levers.empty()) {
    std::optional<WithoutLever> best;
    std::size_t which = 0;
    double most_s = 0;
    for (std::size_t k = 0; k < levers.size(); ++k) {
      WithoutLever w = weigh_without(evaluator, now, levers[k]);
      const bool known = knows_cost(plan, levers[k]);
      const double gain_s = known ? takes.seconds - w.takes.seconds : 0;
      const bool costs = known ? gain_s >= least_cost * whole_s
                               : !plan.on_gpu || levers[k].told.key != "parallel.mode";
      if (w.fits && costs && (!best || gain_s > most_s))
        best = std::move(w), which = k, most_s = gain_s;
    }
    if (!best) break;
    take(levers[which], std::move(*best));
    levers.erase(levers.begin() + static_cast<std::ptrdiff_t>(which));
  }
  if (weighs_degrees) tell_degrees(out, plan, now, takes, draft_of);
  return out;
}

std::string batch_hint(const RunPlan& plan) {
  constexpr double few_steps = 100;  // of an epoch
  const std::int64_t factor = plan.batch.grad_accum_steps * plan.mesh.batches();
  if (factor < 2 || plan.train_samples <= 0) return "";
  const double of_epoch = static_cast<double>(plan.train_samples) /
                          static_cast<double>(plan.batch.global_batch_size);
  if (of_epoch >= few_steps) return "";
  return "an epoch has only " + printed(of_epoch < 10 ? "%.1f" : "%.0f", of_epoch) + " steps of " +
         std::to_string(plan.batch.global_batch_size) +
         " samples: a smaller batch.global_batch_size gives more updates";
}

std::string describe(const std::vector<Needless>& levers, const RunPlan& plan) {
  std::string out;
  for (const Needless& n : levers) {
    if (out.empty())
      out = std::string("advice: not needed") + (plan.time ? ", by the same prediction" : "") +
            "\n";
    out += "  " + n.key + " " + n.now + " -> " + n.better + ": ";
    if (n.gain_s > 0 && plan.time)
      out += human_time(n.gain_s) + " of " + human_time(plan.time->step_s) + " (" +
             percent(n.share) + "), ";
    out += human_bytes(std::abs(n.more_bytes)) + (n.more_bytes < 0 ? " less" : " more") +
           " memory; " + n.reason + "\n";
  }
  return out;
}

nlohmann::json to_json(const std::vector<Needless>& levers) {
  auto all = nlohmann::json::array();
  for (const Needless& n : levers) {
    nlohmann::json j{{"now", {{n.key, n.now}}},
                     {"better", {{n.key, n.better}}},
                     {"more_bytes", n.more_bytes},
                     {"reason", n.reason},
                     {"changes_training", false}};
    j["gain_ms"] = n.gain_s > 0 ? nlohmann::json(n.gain_s * 1e3) : nlohmann::json(nullptr);
    j["gain_share"] = n.gain_s > 0 ? nlohmann::json(n.share) : nlohmann::json(nullptr);
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace trainx::plan
