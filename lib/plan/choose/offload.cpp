#include "plan/choose/offload.hpp"
#include "plan/choose/fit.hpp"
#include "plan/memory_plan.hpp"
#include "plan/parameter_groups.hpp"
#include "plan/explain/percent.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::plan {

using recipe::OptimizerOffload;

namespace {

// A smaller gain is below what the prediction is good for, and the memory is worth more.
constexpr double least_gain_of_share = 0.005;

program::ModelGraph smallest_graph(const Decisions& plan) {
  architectures::Machine machine(plan.threads);
  machine.rules = parameter_rules(plan);
  return architectures::model_graph(plan.dims, 1, plan.row_lengths.front(), plan.compute,
                                    std::move(machine));
}

/// With so many groups on the device.
struct Shared {
  int groups = 0;
  std::int64_t bytes = 0;
  double seconds = 0;  // of a step
};

Shared weigh_share(const Decisions& plan, int groups_on_device, const program::Rates& rates) {
  Decisions other = plan;
  other.groups_on_device = groups_on_device;
  other.row_lengths = {plan.row_lengths.back()};
  const Programs programs = plan_programs(other, Extent::candidate);
  return {groups_on_device, plan_memory_totals(other, programs).total_bytes(),
          step_seconds(programs, rates)};
}

int trained_groups(const program::ModelGraph& graph) {
  return static_cast<int>(std::ranges::count_if(
      graph.groups, [](const program::GroupSpec& g) { return g.training.trained; }));
}

/// Of the elements of all groups that are trained, what the first `groups` of them have.
double share_of(const program::ModelGraph& graph, int groups) {
  double all = 0, first = 0;
  for (const program::GroupSpec& g : graph.groups) {
    if (!g.training.trained) continue;
    all += static_cast<double>(g.elements);
    if (groups-- > 0) first += static_cast<double>(g.elements);
  }
  return first / all;
}

void choose_share(Decisions& plan, std::int64_t budget, const program::Rates* rates) {
  auto& share = plan.recipe.memory.optimizer_offload.share;
  if (!share.is_auto()) return;
  const program::ModelGraph graph = smallest_graph(plan);
  const int groups = trained_groups(graph);
  std::string text = "memory.optimizer_offload.share ";
  if (!rates || rates->host_bytes_per_s <= 0) {
    share.value = 0;
    plan.choices.push_back(text +
                           "0: how fast copies to the host are was not measured here, so that what "
                           "updates on the GPU would save is not known");
    return;
  }
  const Shared none = weigh_share(plan, 0, *rates);
  Shared best = none;
  bool any_is_faster = false;
  // the time falls with the share, or rises: a few points show which
  constexpr int tries = 8;
  for (int k = 1, before = 0; k <= tries; ++k) {
    const int on_device = groups * k / tries;
    if (on_device == before) continue;
    const Shared tried = weigh_share(plan, before = on_device, *rates);
    const bool faster = tried.seconds < (1 - least_gain_of_share) * best.seconds;
    any_is_faster = any_is_faster || faster;
    if (faster && (budget <= 0 || tried.bytes <= budget)) best = tried;
  }
  if (best.groups == groups) {
    auto& o = plan.recipe.memory.optimizer_offload;
    recipe::OptimizerOffloadSection nothing;
    if (weights_on_disk(plan)) {  // which have the same file
      nothing.folder = o.folder;
      nothing.read_ahead = o.read_ahead;
    }
    o = nothing;
    return plan.choices.push_back(
        "memory.optimizer_offload none: share: auto leaves all of it on the GPU, which has room "
        "for it (" +
        human_bytes(best.bytes) + "), and a step takes " +
        percent(1 - best.seconds / none.seconds) + " less");
  }
  plan.groups_on_device = best.groups;
  share.value = share_of(graph, best.groups);
  char number[32];
  std::snprintf(number, sizeof number, "%.2f", *share.value);
  text += number;
  if (best.groups > 0)
    text += ": " + percent(1 - best.seconds / none.seconds) +
            " of a step less than with all of it elsewhere, and " +
            human_bytes(best.bytes - none.bytes) + " more";
  else
    text += any_is_faster ? ": memory.budget has no room for more"
                          : ": updates on the GPU would not be faster";
  plan.choices.push_back(std::move(text));
}

/// Memory of the host that the run takes, and that it may take; 0: not known.
std::int64_t host_taken(const Decisions& plan) {
  const MemoryPlan memory = plan_memory_budget(plan, plan_programs(plan));
  return plan.on_gpu ? host_need(memory) : memory.total_bytes();
}

void choose_what_is_on_disk(Decisions& plan, std::int64_t budget) {
  if (plan.recipe.memory.optimizer_offload.where != OptimizerOffload::cpu_disk) return;
  const std::int64_t has = host_budget(plan, budget);
  const int groups = trained_groups(smallest_graph(plan)), most = groups - plan.groups_on_device;
  const auto fits = [&](int on_disk) {
    Decisions tried = plan;
    tried.groups_on_disk = on_disk;
    return has <= 0 || host_taken(tried) <= has;
  };
  int low = 0, high = most;  // low does not fit; high does, or is all there is
  // a few groups on the disk may take more memory, to pass through, than they free
  if (fits(0)) high = 0;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  plan.groups_on_disk = high;
  plan.choices.push_back("memory.optimizer_offload: the optimizer of " + std::to_string(high) +
                         " of " + std::to_string(groups) + " groups of parameters is on the disk" +
                         (has <= 0    ? ": how much memory the host has is not known"
                          : high == 0 ? ": the host's memory (" + human_bytes(has) + ") holds all"
                                      : ": host memory of " + human_bytes(has) + " holds no more"));
}

}  // namespace

std::int64_t host_budget(const Decisions& plan, std::int64_t budget_bytes) {
  const auto& asked = plan.recipe.memory.optimizer_offload.host_budget;
  const std::int64_t there = plan.on_gpu ? plannable_host_bytes(plan) : budget_bytes;
  if (asked.is_auto()) return there;
  return there > 0 ? std::min(there, asked.value->bytes) : asked.value->bytes;
}

void place_optimizer(Decisions& plan) {
  plan.groups_on_device = plan.groups_on_disk = 0;
  const auto& o = plan.recipe.memory.optimizer_offload;
  if (o.where == OptimizerOffload::none || o.share.is_auto() || *o.share.value == 0) return;
  const program::ModelGraph graph = smallest_graph(plan);
  while (plan.groups_on_device < trained_groups(graph) &&
         share_of(graph, plan.groups_on_device + 1) <= *o.share.value + 1e-9)
    ++plan.groups_on_device;
}

void choose_offload(Decisions& plan, std::int64_t budget_bytes, const program::Rates* rates) {
  if (!offloads_optimizer(plan)) return;
  choose_share(plan, budget_bytes, rates);
  choose_what_is_on_disk(plan, budget_bytes);
}

namespace {

/// Of so many groups, all of them trained.
std::vector<passes::OptimizerLocation> locations_of(const Decisions& plan, std::size_t groups) {
  const auto where = plan.recipe.memory.optimizer_offload.where;
  std::vector<passes::OptimizerLocation> locations(groups, where == OptimizerOffload::disk
                                                               ? passes::OptimizerLocation::disk
                                                               : passes::OptimizerLocation::host);
  const std::size_t on_device = std::min(static_cast<std::size_t>(plan.groups_on_device), groups),
                    elsewhere = groups - on_device;
  std::fill_n(locations.begin(), on_device, passes::OptimizerLocation::device);
  if (where != OptimizerOffload::cpu_disk) return locations;
  const std::size_t on_disk = std::min(static_cast<std::size_t>(plan.groups_on_disk), elsewhere);
  // apart: transfers run beside the updates between them
  for (std::size_t k = 0; k < on_disk; ++k)
    locations[on_device + (2 * k + 1) * elsewhere / (2 * on_disk)] =
        passes::OptimizerLocation::disk;
  return locations;
}

}  // namespace

std::vector<passes::OptimizerLocation> optimizer_locations(
    const Decisions& plan, const std::vector<program::GroupSpec>& groups) {
  const auto trains = [](const program::GroupSpec& g) { return g.training.trained; };
  const auto of_trained =
      locations_of(plan, static_cast<std::size_t>(std::ranges::count_if(groups, trains)));
  auto next = of_trained.begin();
  std::vector<passes::OptimizerLocation> locations;
  for (const program::GroupSpec& group : groups)
    locations.push_back(trains(group) ? *next++ : passes::OptimizerLocation::device);
  return locations;
}

}  // namespace trainx::plan
