#include "plan/refusal.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "plan/choose/degrees.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/search.hpp"
#include "plan/largest_block.hpp"
#include "plan/libraries_fill.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/weight_casts.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::plan {
namespace {

bool is_batch_written(const Draft& plan) {
  return !plan.recipe.batch.micro_batch_size.is_auto() || plan.recipe.batch.grad_accum_steps;
}

std::string why_nothing_fits(const Draft& plan, const MemoryPlan& memory) {
  const std::string smaller = "take a smaller model or a larger budget",
                    nothing = "nothing in the recipe makes it fit";
  if (plan.row_lengths.empty()) return nothing + "; " + smaller;  // nothing is trained
  const LargestBlock block = largest_block(plan);
  const std::int64_t beside = memory.library_bytes + memory.process_bytes,
                     at_once = block.bytes + beside;
  return nothing + ": " + block.operation + " alone has " + human_bytes(block.bytes) +
         " in memory at once with batch.micro_batch_size " +
         std::to_string(block.micro_batch_size) +
         (at_once > memory.budget_bytes
              ? ", beside " + human_bytes(beside) + " that libraries take, and no block is cut; "
              : "; ") +
         smaller;
}

/// With the deepest level of any layer in all of them, which is shorter to write.
Decisions with_one_level(Decisions choice) {
  choice.levels.assign(1, *std::ranges::max_element(choice.levels));
  return choice;
}

/// The fastest way that changes one thing alone, else the fastest of all.
std::optional<Way> nearest_way(Search& search, const Space& all, const Decisions& now) {
  Space fixed = all;
  fixed.written = now;
  fixed.modes = {{now.mode, now.shard}};
  fixed.experts = {now.experts};
  fixed.micro_batch_sizes = {now.micro_batch_size};
  fixed.depth.reset();
  fixed.on_host = {{}};
  std::vector<Space> one_thing(4, fixed);
  one_thing[0].modes = all.modes;
  one_thing[1].micro_batch_sizes = all.micro_batch_sizes;
  one_thing[2].depth = all.depth;
  one_thing[3].on_host = all.on_host;
  one_thing.push_back(all);
  std::optional<Way> best;
  for (const Space& space : one_thing) {
    if (&space == &one_thing.back() && best) break;
    const Found found = search.find(space);
    if (!found.best()) continue;
    Way way = *found.best();
    const Decisions plain = with_one_level(way.choice);
    if (const Evaluation& takes = search.evaluator().of(plain); search.fits(plain, takes))
      way = {plain, takes};
    if (!best || way.takes.seconds < best->takes.seconds) best = way;
  }
  return best;
}

/// Other ranks that share a batch: the fewest with which the run fits in less than `limit_s`, of as
/// many the fastest; as the recipe is written, or with `freely` with all that leaves numbers as
/// they are.
std::optional<Way> way_of_degrees(const Draft& plan, std::int64_t have, const Redraft& again,
                                  bool freely, double limit_s) {
  recipe::Recipe recipe = again.asked;
  recipe.parallel.tensor = recipe.parallel.context = {};
  if (freely && plan.mode != recipe::ParallelMode::dp)
    recipe.parallel.mode = {}, recipe.parallel.shard_ranks = {};
  const Degrees now{plan.mesh.tensor, plan.mesh.context, plan.mesh.pipeline};
  std::optional<Way> best;
  int ranks = 0;
  draft_other_degrees(recipe, again.draft_of, now, [&](const Degrees& degrees, Drafted& drafted) {
    Draft& problem = drafted.plan;
    if (best && degrees.ranks() > ranks) return false;
    if (degrees.ranks() <= now.ranks() ||
        problem.batch.global_batch_size != plan.batch.global_batch_size)
      return true;
    problem.budget_bytes = have;
    Evaluator evaluator(problem, drafted.rates());
    Search search(evaluator, budget_of(problem));
    search.look_below(limit_s);
    Space space = space_of(problem, freely ? Freedom::any : Freedom::unwritten, 1);
    if (is_batch_written(plan))
      std::erase_if(space.micro_batch_sizes, [&](std::int64_t micro) {
        return micro * now.ranks() > plan.batch.micro_batch_size * degrees.ranks();
      });
    if (space.micro_batch_sizes.empty() || search.least_seconds(space) >= limit_s) return true;
    const Found found = search.find(space);
    const Way* const way = found.best();
    if (way && way->takes.seconds < limit_s &&
        (!best || way->takes.seconds < best->takes.seconds)) {
      best = *way;
      ranks = degrees.ranks();
    }
    return true;
  });
  return best;
}

/// Beside the fastest way of the ranks that share a batch now.
std::optional<Way> way_of_any_degrees(const Draft& plan, std::int64_t have, const Redraft& again,
                                      const std::optional<Way>& nearest) {
  const bool is_timed = nearest && nearest->takes.seconds > 0;
  if (nearest && !is_timed) return nearest;  // which changes less
  const double limit_s = is_timed ? nearest->takes.seconds
                                  : std::numeric_limits<double>::infinity();
  if (const auto way = way_of_degrees(plan, have, again, false, limit_s)) return way;
  return nearest ? nearest : way_of_degrees(plan, have, again, true, limit_s);
}

/// Which keys let trainx find a way by itself.
std::string keys_that_choose(const Draft& plan, const Decisions& best, const Decisions& now) {
  const bool same_mode = best.mode == now.mode && best.shard == now.shard;
  std::string degrees;
  for (const auto& [key, changes] : {std::pair{"parallel.tensor", best.tensor != now.tensor},
                                     {"parallel.context", best.context != now.context},
                                     {"parallel.pipeline", best.pipeline != now.pipeline}})
    if (changes) degrees += (degrees.empty() ? "" : " with ") + std::string(key) + ": auto";
  if (degrees.empty())
    return plan.recipe.memory.fit && same_mode
               ? ""
               : std::string("memory.fit: true") + (same_mode ? "" : " with parallel.mode: auto");
  if (best.mode != now.mode) degrees += " with parallel.mode: auto";
  Decisions other = now;
  other.tensor = best.tensor, other.context = best.context, other.pipeline = best.pipeline;
  other.mode = best.mode, other.shard = best.shard;
  other.micro_batch_size = best.micro_batch_size;
  return changed_keys(best, other).empty() ? degrees : degrees + " with memory.fit: true";
}

/// Whether moments of a byte each would do, which changes training: as the rest of a sentence.
std::string by_small_moments(const Draft& plan, const Budget& budget) {
  const auto* adamw = std::get_if<options::AdamWOptions>(&plan.recipe.optimizer.options);
  if (!adamw || plan.mesh.experts > 1) return "";
  Draft other = plan;
  const options::AdamW8bitOptions small{.beta1 = adamw->beta1,
                                        .beta2 = adamw->beta2,
                                        .eps = adamw->eps,
                                        .weight_decay = adamw->weight_decay};
  other.recipe.optimizer.options = small;
  std::vector<program::StateSpec> states = options::states(small);
  for (const program::StateSpec& s : plan.update.states)
    if (s.averages_weights) states.push_back(s);
  other.update.states = std::move(states);
  other.update.unit = options::unit_of(small);
  other.update.sums = options::tensor_sums_of(small);
  Evaluator evaluator(std::move(other), nullptr);
  Search search(evaluator, budget);
  const Decisions now = decisions_of(plan);
  for (const RecomputeLevel level : {now.levels.front(), RecomputeLevel::full}) {
    Decisions choice = now;
    choice.levels = {level};
    const Evaluation& takes = evaluator.memory_of(choice);
    if (!search.fits(choice, takes)) continue;
    const std::string changes = changes_of(choice, now);
    return "optimizer.type: adamw_8bit" + (changes.empty() ? "" : " with " + changes) +
           " would fit (" + human_bytes(takes.bytes) + ", with moments of a byte each)";
  }
  return "";
}

}  // namespace

std::string what_would_fit(const Draft& plan, std::int64_t have, const program::Rates* rates,
                           const Redraft* again) {
  if (plan.row_lengths.empty()) return "";  // nothing is trained: there is no batch to cut
  Draft problem = plan;
  problem.budget_bytes = have;
  if (libraries_fill(problem) || layers_of(plan.dims) > most_searched_layers) return "";
  Evaluator evaluator(problem, rates);
  const Budget budget = budget_of(problem);
  Search search(evaluator, budget);
  const std::string small = by_small_moments(plan, budget);
  Space space = space_of(problem, Freedom::any, 1);
  if (is_batch_written(plan))
    std::erase_if(space.micro_batch_sizes,
                  [&](std::int64_t micro) { return micro > plan.batch.micro_batch_size; });
  const Decisions now = decisions_of(plan);
  std::optional<Way> nearest = nearest_way(search, space, now);
  if (again && plan.mesh.world > 1) nearest = way_of_any_degrees(plan, have, *again, nearest);
  if (!nearest) return small;
  const Decisions& best = nearest->choice;
  Decisions from = now;
  if (best.tensor != now.tensor || best.context != now.context) {
    if (again->asked.parallel.mode.is_auto()) from.mode = best.mode;
    if (!is_batch_written(plan)) from.micro_batch_size = best.micro_batch_size;
    from.shard = best.shard;  // of fewer ranks with rows of their own
  }
  const std::string changes = changes_of(best, from);
  if (changes.empty()) return small;
  const Evaluation& takes = nearest->takes;
  std::string cost = human_bytes(takes.bytes);
  if (takes.host_bytes > 0) cost += ", " + human_bytes(takes.host_bytes) + " on the host";
  if (takes.seconds > 0) {
    char text[32];
    std::snprintf(text, sizeof text, ", %.*f ms a step", takes.seconds < 1 ? 1 : 0,
                  takes.seconds * 1e3);
    cost += text;
  }
  const std::string keys = keys_that_choose(plan, best, from);
  return changes + " would fit (" + cost + ")" +
         (keys.empty() ? "" : ", and " + keys + " chooses by itself") +
         (small.empty() ? "" : "; " + small);
}

std::string what_needs_less_host_memory(const Draft& plan, const MemoryPlan& memory) {
  const bool activations = plan.recipe.memory.activation_offload != recipe::ActivationOffload::none,
             optimizer = offloads_optimizer(plan);
  std::string text, rounded;
  if (optimizer && !rounds_gradients(plan)) {
    const auto gradients = std::ranges::find(memory.on_host, "gradients on the host",
                                             &std::pair<std::string, std::int64_t>::first);
    const std::int64_t half = gradients == memory.on_host.end() ? 0 : gradients->second / 2;
    if (half > 0 && host_need(memory) - half <= host_budget(plan, 0))
      rounded =
          "write memory.optimizer_offload.gradients: bf16, in which gradients take half as much "
          "there, ";
  }
  if (optimizer && !recipe::uses_disk(plan.recipe.memory.optimizer_offload.where))
    text =
        "write memory.optimizer_offload: cpu+disk, which keeps on a disk what memory has no room "
        "for, leave it out, ";
  else if (optimizer)
    text = "leave memory.optimizer_offload out, ";
  text = rounded + text;
  if (optimizer)
    text +=
        "or let more ranks on other machines share what the optimizer keeps (parallel.mode: zero1)";
  if (plan.on_gpu && plan.writes_beside_training())
    text += std::string(text.empty() ? "" : ", or ") +
            "write checkpoint.asynchronous: false, which pins no copy of what is saved";
  if (activations)
    text += std::string(text.empty() ? "" : "; ") +
            "recompute more (memory.activation_checkpoint), which leaves less to copy, or lower "
            "batch.micro_batch_size";
  if (offloads_weights(plan))
    text += std::string(text.empty() ? "" : "; ") +
            (weights_on_disk(plan) ? "" : "write memory.parameter_offload: disk, ") +
            "leave memory.parameter_offload out, or let more ranks share the weights "
            "(parallel.mode: zero3)";
  const bool keeps_weights = std::ranges::any_of(
      memory.on_host, [](const auto& part) { return part.first == weights_on_host_category; });
  if (keeps_weights && casts_weights_once_a_run(plan))
    text += std::string(text.empty() ? "" : "; ") +
            "let more ranks share the weights (parallel.mode: zero3), or give the run more host "
            "memory";
  return text;
}

void require_fits(const Draft& plan, const MemoryPlan& memory, const program::Rates* rates,
                  const Redraft* again) {
  const std::int64_t need = memory.total_bytes(), have = memory.budget_bytes;
  if (plan.disk_free_bytes && memory.disk_bytes > *plan.disk_free_bytes) {
    const auto& o = plan.recipe.memory.optimizer_offload;
    const std::string key = recipe::uses_disk(o.where) ? "memory.optimizer_offload"
                                                       : "memory.parameter_offload";
    throw UserError(
        ExitCode::out_of_memory,
        key + ": the run needs " + human_bytes(memory.disk_bytes) + " on the disk and " +
            human_bytes(*plan.disk_free_bytes) + " are free" +
            (plan.mesh.world > 1 ? " for each rank" : "") +
            "; make room, name a folder on another disk (memory.optimizer_offload.folder)" +
            (o.where == recipe::OptimizerOffload::disk
                 ? ", or write where: cpu+disk, which fills the host's memory first"
                 : "") +
            (weights_on_disk(plan) ? ", or write memory.parameter_offload: cpu, which keeps "
                                     "weights in the host's memory"
                                   : ""));
  }
  if (const std::int64_t host_has = host_budget(plan, 0);
      plan.on_gpu && host_has > 0 && host_need(memory) > host_has) {
    std::string what;
    for (const auto& [name, bytes] : memory.on_host)
      what += (what.empty() ? "" : ", ") + name + " " + human_bytes(bytes);
    if (memory.beside_host_bytes > 0)
      what += std::string(what.empty() ? "" : ", ") +
              "weights as they are loaded and a checkpoint on its way to disk " +
              human_bytes(memory.beside_host_bytes);
    if (memory.on_host_of_other_ranks_bytes > 0)
      what += ", less " + human_bytes(memory.on_host_of_other_ranks_bytes) +
              " of frozen weights that count for other ranks, which share them";
    throw UserError(ExitCode::out_of_memory,
                    "memory: the run needs " + human_bytes(host_need(memory)) + " on the host (" +
                        what + ") and " +
                        (plan.recipe.memory.optimizer_offload.host_budget.is_auto()
                             ? "the machine has "
                             : "memory.optimizer_offload.host_budget is ") +
                        human_bytes(host_has) +
                        (plan.recipe.memory.optimizer_offload.host_budget.is_auto()
                             ? " for it, all but a twentieth; "
                             : "; ") +
                        what_needs_less_host_memory(plan, memory));
  }
  if (have <= 0 || need <= have) return;
  std::string remedy = what_would_fit(plan, have, rates, again);
  if (remedy.empty())
    remedy = !is_searchable(plan)
                 ? "lower batch.micro_batch_size, write memory.activation_checkpoint: full, take a "
                   "smaller model or a larger budget"
                 : why_nothing_fits(plan, memory);
  throw UserError(ExitCode::out_of_memory, "memory: the run needs " + human_bytes(need) +
                                               " and memory.budget is " + human_bytes(have) + ", " +
                                               human_bytes(need - have) + " too little; " + remedy);
}

}  // namespace trainx::plan
