// A group's tensors as the kernels and their references take them.
#pragma once
#include "kernels/optimizer/update.hpp"
#include "optim/optimizer.hpp"
#include <cstdint>

namespace trainx::optim {

kernels::WeightKind weight_kind(const GroupMemory& memory);
/// A range for each tensor of the group, wherever its memory is. `states`: what the optimizer
/// keeps, in the order of memory.states.
std::vector<kernels::UpdateRange> update_ranges(const GroupMemory& memory,
                                                const std::vector<program::StateSpec>& states);

/// As an optimizer sees them that updates whole tensors. Where a group is a shard there is a range
/// for each tensor of the whole group, that of elements that are here: none of some.
struct TensorRanges {
  std::vector<kernels::UpdateRange> ranges;
  std::vector<program::ParameterSpec> tensors;  // whole
  std::vector<program::Slice> slices;           // of the tensor, where it has parts
  // by round, of each range; empty where tensors are whole
  std::vector<std::vector<double*>> sums;
  void append(TensorRanges more);  // of another group
};
TensorRanges tensor_ranges(const GroupMemory& memory, const std::vector<program::StateSpec>& states,
                           const std::vector<program::TensorSums>& sums);

/// Of a group in host memory.
struct GroupTable {
  std::vector<kernels::UpdateRange> ranges;
  std::vector<kernels::Chunk> chunks;
  kernels::WeightKind kind;
  GroupTable(const GroupMemory& memory, const std::vector<program::StateSpec>& states);
  GroupTable(std::vector<kernels::UpdateRange> ranges, kernels::WeightKind kind);
  kernels::UpdateTable table() const {
    return {ranges.data(), chunks.data(), static_cast<std::int64_t>(chunks.size())};
  }
  /// Calls `use(chunk)` for every chunk, on LibTorch's threads.
  void for_each(const std::function<void(std::int64_t)>& use) const;
};

/// Scalars of a step, as those on a device are given.
struct StepPointers {
  explicit StepPointers(const StepScalars& s) : scalars(s) {}
  kernels::UpdateScalars get() const {
    return {&scalars.norm2, &one, &scalars.applied_steps, &scalars.lr, 1};
  }
  kernels::ScaleSettings scale() const { return {scalars.gradient_scale, scalars.max_grad_norm}; }
  const StepScalars& scalars;
  double one = 1;
};

}  // namespace trainx::optim
