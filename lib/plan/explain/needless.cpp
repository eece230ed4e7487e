#include "plan/explain/needless.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/fit.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/explain/percent.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
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
        [](Decisions& p) { p.recipe.memory.recompute_segment = 1; })
        ->saves_nothing = true;
  if (!plan.on_gpu || !plan.rates || std::holds_alternative<architectures::CustomDims>(plan.dims))
    return out;
  const auto& levels = *memory.activation_checkpoint.value;
  if (std::ranges::any_of(levels, [](RecomputeLevel l) { return l != RecomputeLevel::none; }))
    add("memory.activation_checkpoint",
        levels.size() == 1 ? recipe::write_value(levels.front()) : "a level for each layer", "none",
        false, [](Decisions& p) {
          p.recipe.memory.activation_checkpoint.value = std::vector{RecomputeLevel::none};
          p.recipe.memory.recompute_segment = 1;
        });
  if (memory.activation_offload != recipe::ActivationOffload::none)
    add("memory.activation_offload", recipe::write_value(memory.activation_offload), "none", true,
        [](Decisions& p) { p.recipe.memory.activation_offload = recipe::ActivationOffload::none; });
  if (offloads_optimizer(plan))
    add("memory.optimizer_offload", recipe::write_value(memory.optimizer_offload.where), "none",
        true, [](Decisions& p) {
          p.recipe.memory.optimizer_offload.where = recipe::OptimizerOffload::none;
          p.groups_on_device = p.groups_on_disk = 0;
        });
  if (offloads_weights(plan))
    add("memory.parameter_offload", recipe::write_value(memory.parameter_offload), "none", true,
        [](Decisions& p) { p.recipe.memory.parameter_offload = recipe::ParameterOffload::none; });
  if (plan.zero_stage() > 0)
    add("parallel.mode", recipe::write_value(plan.mode), "ddp", true, [](Decisions& p) {
      set_mode(p, recipe::ParallelMode::ddp);
      p.turns_kept = 0;
    });
  return out;
}

struct WithoutLever {
  Decisions decided;
  std::int64_t bytes = 0;
  double seconds = 0;  // 0: no rates
  bool fits = false;
};

/// `now` without the lever; `plan`: whose rates and budget hold.
WithoutLever weigh_without(const RunPlan& plan, const Decisions& now, const Lever& lever) {
  WithoutLever w{now};
  lever.take_away(w.decided);
  const Programs programs = plan_programs(w.decided, Extent::candidate);
  const std::int64_t budget = plan.memory.budget_bytes;
  w.bytes = plan_memory_totals(w.decided, programs).total_bytes();
  if (plan.step_rates) w.seconds = step_seconds(programs, *plan.step_rates);
  w.fits = budget > 0 && w.bytes <= budget;
  return w;
}

bool knows_cost(const RunPlan& plan, const Lever& lever) {
  if (!lever.copies) return true;
  return plan.step_rates &&
         (lever.told.key == "parallel.mode" ? plan.step_rates->link_bytes_per_s > 0
                                            : plan.step_rates->host_bytes_per_s > 0);
}

std::string ms(double seconds) {
  char out[64];
  std::snprintf(out, sizeof out, "%.1f ms", seconds * 1e3);
  return out;
}

}  // namespace

std::vector<Needless> needless_levers(const RunPlan& plan) {
  std::vector<Needless> out;
  std::vector<Lever> levers = levers_of(plan);
  if (levers.empty() || plan.row_lengths.empty() || layers_of(plan.dims) > most_searched_layers)
    return out;
  Decisions now = plan;
  now.searched = search_of(6'000);
  std::int64_t bytes = plan.memory.total_bytes();  // of now
  double seconds = plan.step_rates ? step_seconds(plan, *plan.step_rates) : 0;
  const double whole_s = seconds;
  const auto take = [&](const Lever& lever, WithoutLever w) {
    Needless& told = out.emplace_back(lever.told);
    const bool known = knows_cost(plan, lever);
    told.gain_s = known ? std::max(0.0, seconds - w.seconds) : 0;
    told.share = whole_s > 0 ? told.gain_s / whole_s : 0;
    told.more_bytes = w.bytes - bytes;
    told.reason = lever.saves_nothing ? "layers recomputed together save no memory here"
                                      : "the run fits without it: " + human_bytes(w.bytes) +
                                            " of " + human_bytes(plan.memory.budget_bytes);
    if (!known) told.reason += "; what it costs was not measured on this GPU";
    seconds = w.seconds;
    bytes = w.bytes;
    now = std::move(w.decided);
  };
  if (levers.front().saves_nothing) {  // whether or not recomputation itself is needed
    if (WithoutLever w = weigh_without(plan, now, levers.front());
        w.bytes <= bytes && w.seconds <= seconds)
      take(levers.front(), std::move(w));
    levers.erase(levers.begin());
  }
  while (!levers.empty() && !is_spent(now)) {
    std::optional<WithoutLever> best;
    std::size_t which = 0;
    double most_s = 0;
    for (std::size_t k = 0; k < levers.size() && !is_spent(now); ++k) {
      WithoutLever w = weigh_without(plan, now, levers[k]);
      const bool known = knows_cost(plan, levers[k]);
      const double gain_s = known ? seconds - w.seconds : 0;
      const bool costs = known ? gain_s >= least_cost * whole_s
                               : levers[k].told.key != "parallel.mode";
      if (w.fits && costs && (!best || gain_s > most_s))
        best = std::move(w), which = k, most_s = gain_s;
    }
    if (!best) break;
    take(levers[which], std::move(*best));
    levers.erase(levers.begin() + static_cast<std::ptrdiff_t>(which));
  }
  return out;
}

std::string batch_hint(const RunPlan& plan) {
  constexpr double few_steps = 100;  // of an epoch
  const std::int64_t factor = plan.batch.grad_accum_steps * plan.mesh.data;
  if (factor < 2 || plan.train_samples <= 0) return "";
  const double of_epoch = static_cast<double>(plan.train_samples) /
                          static_cast<double>(plan.batch.global_batch_size);
  if (of_epoch >= few_steps) return "";
  // which rule an optimizer of the user's own follows is not known
  if (std::holds_alternative<options::OwnOptimizerOptions>(plan.recipe.optimizer.options))
    return "";
  const bool adam =
      std::visit([](const auto& o) { return std::string_view(o.name).starts_with("adam"); },
                 plan.recipe.optimizer.options);
  char steps[32], root[32];
  std::snprintf(steps, sizeof steps, "%.*f", of_epoch < 10 ? 1 : 0, of_epoch);
  std::snprintf(root, sizeof root, "%.2g",
                adam ? std::sqrt(static_cast<double>(factor)) : static_cast<double>(factor));
  return std::string("an epoch has only ") + steps + " steps of " +
         std::to_string(plan.batch.global_batch_size) + " samples. A batch " +
         std::to_string(factor) +
         " times as large as the micro-batch wants a larger optimizer.lr, up to " + root +
         " times" +
         (adam ? " by the square-root rule for Adam (arXiv:2205.10287)"
               : " by the linear rule for SGD (arXiv:1706.02677)") +
         ", and a warm-up over as many samples";
}

std::string describe(const std::vector<Needless>& levers, const RunPlan& plan) {
  std::string out;
  for (const Needless& n : levers) {
    out += out.empty() ? "advice: not needed, by the same prediction\n" : "";
    out += "  " + n.key + " " + n.now + " -> " + n.better + ": ";
    if (n.gain_s > 0 && plan.time)
      out += ms(n.gain_s) + " of " + ms(plan.time->step_s) + " (" + percent(n.share) + "), ";
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
