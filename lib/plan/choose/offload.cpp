#include "plan/adapter.hpp"
#include "plan/choose/offload.hpp"
#include "plan/memory_plan.hpp"
#include "core/units.hpp"
#include <algorithm>

namespace trainx::plan {

using recipe::OptimizerOffload;

namespace {

program::ModelGraph smallest_graph(const Draft& plan) {
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(plan.threads);
  tell_trained(plan, graph_options);
  return architectures::model_graph(plan.dims, 1, plan.row_lengths.front(), plan.compute,
                                    std::move(graph_options));
}

int trained_groups_of(const program::ModelGraph& graph) {
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

}  // namespace

std::int64_t host_budget(const Draft& plan, std::int64_t budget_bytes) {
  const auto& asked = plan.recipe.memory.optimizer_offload.host_budget;
  const std::int64_t there = plan.on_gpu ? plannable_host_bytes(plan) : budget_bytes;
  if (asked.is_auto()) return there;
  return there > 0 ? std::min(there, asked.value->bytes) : asked.value->bytes;
}

void place_optimizer(Draft& plan) {
  plan.groups_on_device = plan.groups_on_disk = 0;
  const auto& o = plan.recipe.memory.optimizer_offload;
  if (o.where == OptimizerOffload::none || o.share.is_auto() || *o.share.value == 0) return;
  const program::ModelGraph graph = smallest_graph(plan);
  while (plan.groups_on_device < trained_groups_of(graph) &&
         share_of(graph, plan.groups_on_device + 1) <= *o.share.value + 1e-9)
    ++plan.groups_on_device;
}

int trained_groups(const Draft& plan) { return trained_groups_of(smallest_graph(plan)); }

double share_on_device(const Draft& plan) {
  return share_of(smallest_graph(plan), plan.groups_on_device);
}

namespace {

/// Of so many groups, all of them trained.
std::vector<passes::OptimizerLocation> locations_of(const Draft& plan, std::size_t groups) {
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
    const Draft& plan, const std::vector<program::GroupSpec>& groups) {
  const auto trains = [](const program::GroupSpec& g) { return g.training.trained; };
  const auto of_trained =
      locations_of(plan, static_cast<std::size_t>(std::ranges::count_if(groups, trains)));
  auto next = of_trained.begin();
  std::vector<passes::OptimizerLocation> locations;
  for (const program::GroupSpec& group : groups)
    locations.push_back(trains(group) ? *next++ : passes::OptimizerLocation::device);
  return locations;
}

std::vector<bool> weights_on_device(const Draft& plan,
                                    const program::SharedVector<program::GroupSpec>& groups,
                                    const program::SharedVector<program::BlockSpec>& blocks) {
  if (!offloads_weights(plan) || weights_on_disk(plan) || !plan.on_gpu || !plan.adapter ||
      plan.in_parts() || plan.host_memory_bytes <= 0)
    return {};
  std::vector<int> layer_of(groups.size(), program::none);
  for (const program::BlockSpec& block : blocks)
    for (const program::SlotSpec& slot : block.slots)
      if (slot.role == program::Role::parameter) {
        int& layer = layer_of[static_cast<std::size_t>(slot.index)];
        layer = std::max(layer, block.layer);
      }
  // A tenth is left to what is not planned. What is trained takes, at most, 16 bytes an element:
  // weights, exact weights and states, as they are loaded or saved.
  std::int64_t room = plan.host_memory_bytes / 10 * 9, layers = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    layers = std::max<std::int64_t>(layers, layer_of[g] + 1);
    room -= groups[g].elements * (groups[g].training.trained ? 16 : size_of(plan.compute));
  }
  if (room >= 0) return {};
  std::vector<bool> stay(groups.size());
  for (int layer = program::none; layer < layers && room < 0; ++layer)
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (layer_of[g] == layer && !groups[g].training.trained) {
        stay[g] = true;
        room += groups[g].elements * size_of(plan.compute);
      }
  return stay;
}

std::string weights_on_device_words(const Draft& plan, const program::ModelGraph& graph) {
  const std::vector<bool> stay = weights_on_device(plan, graph.groups, graph.blocks);
  std::int64_t bytes = 0, all = 0;
  for (std::size_t g = 0; g < stay.size(); ++g) {
    if (graph.groups[g].training.trained) continue;
    const std::int64_t of_group = graph.groups[g].elements * size_of(plan.compute);
    all += of_group;
    if (stay[g]) bytes += of_group;
  }
  if (bytes == 0) return "";
  return "memory.parameter_offload cpu: " + human_bytes(bytes) + " of " + human_bytes(all) +
         " frozen weights stay on the GPU, because the host has " +
         human_bytes(plan.host_memory_bytes) + " of memory";
}

}  // namespace trainx::plan
