#include "optim/group_table.hpp"
#include "core/error.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>

namespace trainx::optim {

kernels::WeightKind weight_kind(const GroupMemory& memory) {
  const bool bf16 = memory.parameter_dtype == DType::bf16;
  const bool belongs =
      bf16 ||
      (memory.parameter_dtype == DType::f32 && memory.master_kind == program::Master::absent) ||
      (memory.parameter_dtype == DType::f16 && memory.master_kind == program::Master::fp32);
  const bool rounds = memory.rounding_seed.has_value();
  if (rounds && !(bf16 && memory.master_kind == program::Master::absent))
    throw InternalError("stochastic rounding of weights that are exact");
  if (!belongs || (memory.master == nullptr) != (memory.master_kind == program::Master::absent))
    throw InternalError("parameters of type " + std::string(name_of(memory.parameter_dtype)) +
                        " with a master that does not belong to them");
  if (memory.parameter_dtype == DType::f16) return kernels::WeightKind::fp16_with_master;
  if (!bf16) return kernels::WeightKind::fp32;
  switch (memory.master_kind) {
    case program::Master::fp32: return kernels::WeightKind::bf16_with_master;
    case program::Master::split: return kernels::WeightKind::bf16_split;
    case program::Master::absent: break;
  }
  return rounds ? kernels::WeightKind::bf16_stochastic : kernels::WeightKind::bf16;
}

std::vector<kernels::UpdateRange> update_ranges(const GroupMemory& memory,
                                                const std::vector<program::StateSpec>& states) {
  if (!memory.group || memory.states.size() > states.size())
    throw InternalError("an optimizer that keeps " + std::to_string(states.size()) +
                        " states was given " + std::to_string(memory.states.size()));
  const kernels::WeightKind kind = weight_kind(memory);
  std::vector<program::StateLayout> layouts;
  for (const auto& s : states) layouts.push_back(program::state_layout(s, *memory.group));
  const std::int64_t width = kind == kernels::WeightKind::fp32 ? 4 : 2,
                     master_width = memory.master_kind == program::Master::fp32 ? 4 : 2;
  std::vector<kernels::UpdateRange> ranges;
  for (std::size_t k = 0; k < memory.group->parameters.size(); ++k) {
    const program::ParameterSpec& p = memory.group->parameters[k];
    kernels::UpdateRange r{
        nullptr, static_cast<std::byte*>(memory.parameter) + p.offset * width,
        memory.master ? static_cast<std::byte*>(memory.master) + p.offset * master_width : nullptr};
    if (memory.gradient_dtype == DType::f32)
      r.gradient = static_cast<const float*>(memory.gradient) + p.offset;
    else
      r.rounded_gradient = static_cast<const kernels::Bf16*>(memory.gradient) + p.offset;
    for (std::size_t s = 0; s < states.size(); ++s) {
      // of whole tensors: tensor_ranges
      if (layouts[s].offsets[k] == program::none || (memory.of_group && states[s].dims)) continue;
      if (s >= memory.states.size() || !memory.states[s])
        throw InternalError("an optimizer was not given its state " + states[s].name);
      r.states[s] = static_cast<std::byte*>(memory.states[s]) +
                    layouts[s].offsets[k] * size_of(states[s].dtype);
    }
    r.elements = p.elements();
    r.decays = p.decay;
    r.rounding = {memory.rounding_seed.value_or(0), memory.index, memory.first + p.offset};
    ranges.push_back(r);
  }
  return ranges;
}

TensorRanges tensor_ranges(const GroupMemory& memory, const std::vector<program::StateSpec>& states,
                           const std::vector<program::TensorSums>& sums) {
  std::vector<kernels::UpdateRange> here = update_ranges(memory, states);
  if (!memory.of_group)
    return {std::move(here),
            memory.group->parameters,
            std::vector<program::Slice>(memory.group->parameters.size()),
            {}};
  if (memory.sums.size() < sums.size())
    throw InternalError("an optimizer that sums " + std::to_string(sums.size()) +
                        " times over tensors was given " + std::to_string(memory.sums.size()) +
                        " sums");
  const auto& tensors = memory.of_group->parameters;
  TensorRanges out{{}, tensors, {}, {}};
  for (const program::ParameterSpec& tensor : tensors) {
    const auto& parts = memory.group->parameters;
    const auto part = std::ranges::find(parts, tensor.name, &program::ParameterSpec::name);
    out.ranges.push_back(part == parts.end()
                             ? kernels::UpdateRange{.decays = tensor.decay}
                             : here[static_cast<std::size_t>(part - parts.begin())]);
    out.slices.push_back(part == parts.end() ? program::Slice{} : part->slice);
  }
  for (std::size_t s = 0; s < states.size(); ++s) {
    if (!states[s].dims) continue;
    const program::StateLayout layout = program::state_layout(states[s], *memory.of_group);
    for (std::size_t k = 0; k < tensors.size(); ++k)
      out.ranges[k].states[s] = layout.offsets[k] == program::none
                                    ? nullptr
                                    : static_cast<std::byte*>(memory.states[s]) +
                                          layout.offsets[k] * size_of(states[s].dtype);
  }
  for (std::size_t round = 0; round < sums.size(); ++round) {
    const auto begin = program::sums_layout(sums[round], *memory.of_group);
    std::vector<double*>& of_round = out.sums.emplace_back();
    for (std::size_t k = 0; k < tensors.size(); ++k)
      of_round.push_back(memory.sums[round] ? memory.sums[round] + begin[k] : nullptr);
  }
  return out;
}

void TensorRanges::append(TensorRanges more) {
  const auto move_to = [](auto& to, auto& from) {
    std::ranges::move(from, std::back_inserter(to));
  };
  move_to(ranges, more.ranges);
  move_to(tensors, more.tensors);
  move_to(slices, more.slices);
  sums.resize(more.sums.size());
  for (std::size_t round = 0; round < sums.size(); ++round) move_to(sums[round], more.sums[round]);
}

GroupTable::GroupTable(const GroupMemory& memory, const std::vector<program::StateSpec>& states)
    : GroupTable(update_ranges(memory, states), weight_kind(memory)) {}

GroupTable::GroupTable(std::vector<kernels::UpdateRange> all, kernels::WeightKind weights)
    : ranges(std::move(all)), kind(weights) {
  std::vector<std::int64_t> elements;
  for (const auto& r : ranges) elements.push_back(r.elements);
  chunks = kernels::chunks_of(elements);
}

void GroupTable::for_each(const std::function<void(std::int64_t)>& use) const {
  const auto count = static_cast<std::int64_t>(chunks.size());
  constexpr std::int64_t grain = 4;  // waking a thread takes longer than a little work
  tensor::parallel_for(0, count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) use(c);
  });
}

}  // namespace trainx::optim
