#include "plan/explain/alternatives.hpp"
#include "core/units.hpp"
#include "plan/choose/degrees.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/search.hpp"
#include "plan/explain/human_time.hpp"
#include "plan/limits.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace trainx::plan {
namespace {

/// The recipe without levers, all of which are open.
Draft without_levers(Draft plan) {
  Draft problem = std::move(plan);
  recipe::MemorySection& memory = problem.recipe.memory;
  memory.activation_offload = recipe::ActivationOffload::none;
  memory.activation_checkpoint.value = {RecomputeLevel::none};
  memory.recompute_segment = 1;
  if (!uses_disk(problem)) {
    memory.optimizer_offload.where = recipe::OptimizerOffload::none;
    memory.parameter_offload = recipe::ParameterOffload::none;
    problem.groups_on_device = 0;
  }
  problem.turns_kept = 0;
  return problem;
}

auto kind_of(const Decisions& c) {
  return std::tuple(c.mode, c.shard, c.experts, c.tensor, c.context, c.pipeline, c.activations,
                    c.optimizer, c.weights);
}

/// Of each kind the fastest, the fastest first; without rates as trainx would take them.
std::vector<Way> best_of_kinds(Search& search, const Space& space, std::size_t most) {
  std::vector<Way> all;
  if (search.evaluator().rates()) {
    all = search.find(space, static_cast<int>(most)).fitting;
    std::ranges::stable_sort(all, {}, [](const Way& w) { return w.takes.seconds; });
  } else {
    for (const OnHost& on_host : space.on_host)
      for (const ModeOfShards& mode : space.modes) {
        if (all.size() >= most) break;
        Space part = space;
        part.on_host = {on_host};
        part.modes = {mode};
        if (const Found found = search.find(part); found.best()) all.push_back(*found.best());
      }
  }
  std::set<decltype(kind_of(Decisions{}))> known;
  std::erase_if(all, [&](const Way& w) { return !known.insert(kind_of(w.choice)).second; });
  return all;
}

/// With other ranks that share a batch: of each the fastest way that fits, if it is among the
/// fastest of all.
void add_ways_of_degrees(std::vector<Way>& ways, const RunPlan& plan, std::size_t most,
                         const DraftOf& draft_of) {
  recipe::Recipe open = plan.recipe;
  open.batch = {plan.batch.global_batch_size, {}, {}};
  open.parallel.tensor = open.parallel.context = {};
  open.parallel.shard_ranks = {};
  if (plan.mode != recipe::ParallelMode::dp) open.parallel.mode = {};
  const Degrees now{plan.mesh.tensor, plan.mesh.context, plan.mesh.pipeline};
  draft_other_degrees(open, draft_of, now, [&](const Degrees&, const Drafted& drafted) {
    Evaluator evaluator(without_levers(drafted.plan), drafted.rates());
    Search search(evaluator, budget_of(drafted.plan));
    const Space space = space_of(evaluator.problem(), Freedom::any, plan.ranks_per_host);
    if (drafted.rates() && ways.size() >= most) search.look_below(ways[most - 1].takes.seconds);
    if (search.least_seconds(space) >= search.limit_s()) return true;
    if (const Found found = search.find(space); found.best()) ways.push_back(*found.best());
    std::ranges::stable_sort(ways, {}, [](const Way& w) { return w.takes.seconds; });
    return true;
  });
}

}  // namespace

std::vector<Alternative> alternatives(const RunPlan& plan, std::size_t most,
                                      const DraftOf& draft_of) {
  std::vector<Alternative> out;
  if (plan.row_lengths.empty()) return out;
  const Decisions now = decisions_of(plan);
  Evaluator evaluator(without_levers(plan), plan.step_rates ? &*plan.step_rates : nullptr);
  Search search(evaluator, budget_of(plan));
  const auto add = [&](const Decisions& choice, const Evaluation& takes) {
    out.push_back(
        {choice, takes, changed_keys(choice, now),
         takes.seconds > 0 ? static_cast<double>(plan.tokens_per_step) / takes.seconds : 0});
  };
  add(now, evaluator.of(now));
  if (layers_of(plan.dims) > most_searched_layers) return out;
  const Space space = space_of(evaluator.problem(), Freedom::any, plan.ranks_per_host);
  std::vector<Way> ways = best_of_kinds(search, space, most);
  if (draft_of && plan.mesh.world > 1) add_ways_of_degrees(ways, plan, most, draft_of);
  for (const Way& way : ways)
    if (out.size() < most && !changed_keys(way.choice, now).empty()) add(way.choice, way.takes);
  return out;
}

std::string describe(const std::vector<Alternative>& all, const RunPlan& plan) {
  if (all.empty()) return "";
  std::string out =
      "alternatives: other ways to run this recipe, by the same prediction\n"
      "        step   tokens/s        memory          host   changes\n";
  for (const Alternative& a : all) {
    const std::string changes = changes_of(a.choice, all.front().choice, "; ");
    const auto cell = [](const std::string& text, std::size_t width) {
      return std::string(width > text.size() ? width - text.size() : 1, ' ') + text;
    };
    out += cell(a.takes.seconds > 0 ? human_time(a.takes.seconds) : "-", 12) +
           cell(a.tokens_per_s > 0 ? human_count(a.tokens_per_s) : "-", 11) +
           cell(human_bytes(a.takes.bytes), 14) +
           cell(plan.on_gpu && a.takes.host_bytes > 0 ? human_bytes(a.takes.host_bytes) : "-", 14) +
           "   " + (changes.empty() ? "none: the plan" : changes) + "\n";
  }
  return out;
}

nlohmann::json to_json(const std::vector<Alternative>& all) {
  auto out = nlohmann::json::array();
  for (const Alternative& a : all) {
    nlohmann::json changes = nlohmann::json::object();
    for (const std::string& change : a.changes) {
      const std::size_t space = change.find(' ');
      changes[change.substr(0, space)] = change.substr(space + 1);
    }
    const bool timed = a.takes.seconds > 0;
    out.push_back({{"changes", changes},
                   {"step_ms", timed ? nlohmann::json(a.takes.seconds * 1e3) : nullptr},
                   {"tokens_per_second", timed ? nlohmann::json(a.tokens_per_s) : nullptr},
                   {"total_bytes", a.takes.bytes},
                   {"host_bytes", a.takes.host_bytes}});
  }
  return out;
}

}  // namespace trainx::plan
