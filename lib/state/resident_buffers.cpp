// Where ResidentState's buffers lie, and what each is to its group.
#include "core/error.hpp"
#include "plan/memory_plan.hpp"
#include "program/shards.hpp"
#include "state/resident_state.hpp"
#include <algorithm>

namespace trainx::state {

using program::GroupSpec, program::ParameterSpec, program::Role;

namespace {

/// Of the host's memory what no resident has.
std::span<std::byte> free_on_host(const plan::PlacedProgram& placed, std::byte* host) {
  std::int64_t end = 0;
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (const auto& buffer = placed.program.buffers[b];
        buffer.resident && buffer.space == program::Space::host)
      end = std::max(end, placed.placement.base[b] + buffer.bytes());
  end = (end + disk::block_bytes - 1) / disk::block_bytes * disk::block_bytes;
  const std::int64_t all = placed.placement.peak_of(program::Space::host);
  return host && all > end ? std::span<std::byte>(host + end, static_cast<std::size_t>(all - end))
                           : std::span<std::byte>();
}

/// By group, as it lies over the ranks of the stage that keeps it.
std::vector<program::Layout> layouts_over_ranks(const plan::PlacedProgram& placed) {
  std::vector<program::Layout> layouts = program::layouts_of(placed.program, placed.graph);
  const program::Mesh& mesh = placed.program.mesh;
  for (const auto& [buffer, stage] : placed.elsewhere) {
    program::Layout& most = layouts[static_cast<std::size_t>(buffer.index)];
    if (buffer.layout.parts(mesh) > most.parts(mesh)) most = buffer.layout;
  }
  return layouts;
}

}  // namespace

ResidentState::ResidentState(const plan::PlacedProgram& placed, const ResidentMemory& memory,
                             const std::vector<program::StateSpec>& states, execute::Ranks ranks)
    : placed_(placed),
      device_(memory.device && memory.device->has_own_memory() ? memory.device : nullptr),
      ranks_(ranks),
      sharded_(std::ranges::any_of(placed.program.buffers, &program::Buffer::is_cut)),
      staged_(!placed.stage_of_group.empty()),
      window_(memory.disk, free_on_host(placed, memory.host)) {
  if (gathers_to_load() &&
      (!ranks_.communicator() || ranks_.world_size() != placed.program.mesh.world))
    throw InternalError("shards of " + std::to_string(placed.program.mesh.world) +
                        " ranks, which are not here");
  const std::vector<program::Layout> layouts = layouts_over_ranks(placed);
  for (std::size_t g = 0; g < layouts.size(); ++g) {
    Group& group = groups_.emplace_back();
    group.spec = &placed.graph.groups[g];
    group.whole.push_back(*group.spec);
    group.layout = layouts[g];
    if (staged_) group.stage = placed.stage_of_group[g];
    const program::Mesh& mesh = placed.program.mesh;
    for (const int rank : mesh.peers(layouts[g].along(), ranks_.rank()))
      group.shards.push_back(program::local(*group.spec, layouts[g], mesh, rank).spec);
  }
  leaves_frozen_ = device_ && std::ranges::any_of(placed.graph.groups, [](const GroupSpec& g) {
                     return std::ranges::any_of(g.parameters, &ParameterSpec::of_adapter);
                   });
  if (const std::int64_t bytes = plan::largest_weights_on_disk(placed.program); bytes > 0) {
    weights_memory_.emplace(bytes);  // whole pages, which blocks of the disk are not larger than
    weights_window_ =
        DiskWindow(memory.disk, {weights_memory_->data(), static_cast<std::size_t>(bytes)});
  }
  const auto& buffers = placed.program.buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const auto& buffer = buffers[b];
    if (!buffer.resident || is_derived(buffer)) continue;
    const bool on_host = buffer.space == program::Space::host;
    if (on_host && !memory.host)
      throw InternalError(buffer.name + " lies on the host, where there is no memory for it");
    const bool on_disk = buffer.space == program::Space::disk;
    if (on_disk && !memory.disk && buffer.role == Role::parameter)
      throw InternalError(buffer.name + " lies on a disk, which is not there");
    if (on_disk && !memory.disk) continue;
    std::byte* const at =
        on_disk ? nullptr : (on_host ? memory.host : memory.base) + placed.placement.base[b];
    take_resident(buffer,
                  {at, on_disk ? placed.placement.base[b] : program::none,
                   static_cast<std::size_t>(buffer.bytes()), buffer.role == Role::parameter,
                   !on_host && !on_disk},
                  states);
  }
  for (std::size_t k = 0; k < placed.elsewhere.size(); ++k) {
    const program::Buffer& buffer = placed.elsewhere[k].buffer;
    const bool on_disk = buffer.space == program::Space::disk;
    groups_[static_cast<std::size_t>(buffer.index)].is_here = false;
    take_resident(buffer,
                  {nullptr, on_disk ? 0 : program::none, static_cast<std::size_t>(buffer.bytes()),
                   buffer.role == Role::parameter, false, static_cast<int>(k)},
                  states);
  }
}

void ResidentState::take_resident(const program::Buffer& buffer, const Place& place,
                                  const std::vector<program::StateSpec>& states) {
  std::byte* const at = place.memory;
  switch (buffer.role) {
    case Role::step: step_ = reinterpret_cast<std::int64_t*>(at); return;
    case Role::applied_steps: applied_ = reinterpret_cast<std::int64_t*>(at); return;
    case Role::loss_scale: loss_scale_ = reinterpret_cast<double*>(at); return;
    case Role::fp8_ranges:
      fp8_ranges_ = {reinterpret_cast<double*>(at), static_cast<std::size_t>(buffer.elements)};
      set_fp8_ranges({});
      return;
    case Role::learning_rates:
      lr_table_ = {reinterpret_cast<double*>(at), static_cast<std::size_t>(buffer.elements)};
      return;
    default: break;
  }
  Group& group = groups_[static_cast<std::size_t>(buffer.index)];
  const bool on_host = buffer.space == program::Space::host;
  if (buffer.role == Role::parameter) {
    // those that blocks compute with come first
    if (on_host && group.parameter.bytes > 0)
      group.on_host = at;
    else
      group.parameter = place;
  } else if (buffer.role == Role::master) {
    group.master = place;
    group.master_kind = program::master_kind(buffer);
  } else if (!states.empty()) {
    const program::StateSpec& spec = states.at(static_cast<std::size_t>(buffer.item));
    State& state = group.states.emplace_back(
        State{spec, {}, buffer.is_cut(), place, buffer.elements, on_host});
    for (const GroupSpec& shard : shards_of(group, state))
      state.layouts.push_back(program::state_layout(spec, shard));
  }
}

}  // namespace trainx::state
