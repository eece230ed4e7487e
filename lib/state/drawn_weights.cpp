// ResidentState's weights that a device draws by itself, or alone has.
#include "state/resident_state.hpp"
#include "core/hash.hpp"
#include <algorithm>

namespace trainx::state {

using program::GroupSpec, program::Initializer, program::Master, program::ParameterSpec;

namespace {

/// The parts of [0, shard.elements) in their order, those between tensors as zeros.
std::vector<execute::InitialPart> initial_parts(const GroupSpec& whole, const GroupSpec& shard,
                                                std::uint64_t seed,
                                                const kernels::InitialPlaces& to) {
  std::vector<execute::InitialPart> parts;
  std::int64_t end = 0;
  const auto zeros_to = [&](std::int64_t begin) {
    if (begin > end) parts.push_back({to.from(end), {.elements = begin - end}});
  };
  for (const ParameterSpec& p : shard.parameters) {
    const auto of = std::ranges::find(whole.parameters, p.name, &ParameterSpec::name);
    zeros_to(p.offset);
    p.slice.for_each_run(p.elements(), [&](std::int64_t from, std::int64_t at, std::int64_t count) {
      parts.push_back({to.from(p.offset + at), model::initial_values(*of, {from, count}, seed)});
    });
    end = p.offset + p.elements();
  }
  zeros_to(shard.elements);
  return parts;
}

}  // namespace

bool ResidentState::draw(Group& group, std::uint64_t seed) {
  if (!device_) return false;
  for (const ParameterSpec& p : group.spec->parameters)
    if (p.initializer == Initializer::constructed) return false;
  const std::string drawn_from = hash_hex(std::as_bytes(std::span(&seed, 1))) + group.spec->name;
  if (!group.is_here && group.parameter.on_disk == program::none) {
    group.loaded_hash = drawn_from;
    return true;
  }
  std::vector<Place> places{group.parameter};
  if (group.master_kind != Master::absent) places.push_back(group.master);
  kernels::InitialPlaces to, copy;  // copy: what updates on the host read
  const auto rounded = [&](std::byte* at, kernels::InitialPlaces& in) {
    switch (placed_.graph.compute) {
      case DType::f32: in.exact = reinterpret_cast<float*>(at); break;
      case DType::f16: in.fp16 = reinterpret_cast<kernels::Fp16*>(at); break;
      default: in.bf16 = reinterpret_cast<kernels::Bf16*>(at);
    }
  };
  rounded(group.parameter.memory, to);
  if (group.master_kind == Master::fp32) to.exact = reinterpret_cast<float*>(group.master.memory);
  if (group.master_kind == Master::split)
    to.low = reinterpret_cast<std::uint16_t*>(group.master.memory);
  for (const State& state : group.states)
    if (state.spec.averages_weights) {
      to.average = reinterpret_cast<float*>(state.place.memory);
      places.push_back(state.place);
    }
  const auto on_disk = [](const Place& place) { return !place.memory; };
  if (std::ranges::any_of(places, on_disk)) return false;
  const GroupSpec& shard = group.shards[own(group)];
  std::vector<execute::InitialPart> parts = initial_parts(*group.spec, shard, seed, to);
  if (group.on_host) {
    rounded(group.on_host, copy);
    std::ranges::copy(initial_parts(*group.spec, shard, seed, copy), std::back_inserter(parts));
  }
  device_->draw(parts);
  for (const Place& place : places) {
    gathered_.erase(place);
    if (place.in_base) on_device_.insert(place);
  }
  // of frozen weights on the host, which another rank may have loaded, their bytes tell
  if (staged_ || group.spec->training.trained || group.parameter.in_base)
    group.loaded_hash = drawn_from;
  return true;
}

void ResidentState::leave_on_device(Group& group) {
  if (!is_left(group)) return;
  const std::span<std::byte> bytes(group.parameter.memory, group.parameter.bytes);
  if (group.layout.is_whole() && ranks_.world_size() > 1 && !staged_)  // which compare them
    group.loaded_hash = hash_hex(std::span<const std::byte>(bytes));
  device_->keep(bytes);
  on_device_.insert(group.parameter);
}

void ResidentState::upload_to(execute::Device& device) {
  execute::NotUploaded parts;
  for (const Place& place : on_device_) parts.drawn.emplace_back(place.memory, place.bytes);
  std::set<Place> left;
  for (const Group& group : groups_) {
    if (is_left(group) && on_device_.contains(group.parameter)) {
      left.insert(group.parameter);
      parts.constants.emplace_back(group.parameter.memory, group.parameter.bytes);
    }
    for (const State& state : group.states)
      if (!states_written_ && state.spec.initial == 0 && !state.on_host && state.place.memory &&
          !state.spec.averages_weights)
        parts.zeros.emplace_back(state.place.memory, state.place.bytes);
  }
  device.upload(parts);
  on_device_ = std::move(left);
}

std::byte* ResidentState::fetch(const Place& place) const {
  if (on_device_.erase(place) > 0) device_->download_part({place.memory, place.bytes});
  return place.memory;
}

}  // namespace trainx::state
