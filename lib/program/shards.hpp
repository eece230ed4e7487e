// How a group is cut among ranks: into equal shards, one after the other in the group's buffer,
// whose borders fall on the optimizer's units (of Unit::tensor on elements).
#pragma once
#include "program/states.hpp"
#include <cstdint>

namespace trainx::program {

/// The graph with gaps in its groups such that as many shards divide each. What has to be
/// contiguous stays so. Unit::tensor is cut as elements are: its updates sum over tensors first.
ModelGraph divisible(ModelGraph graph, int shards, Unit unit);

/// What one rank keeps of a group: its tensors that lie in the shard, parts of those that a border
/// cuts (as plain elements), and how far from the shard's beginning.
GroupSpec shard_of(const GroupSpec& group, int rank, int shards);

/// What a rank computes with of a group in parts: of tensors that all parts share its rows, and the
/// tensors that are its own, laid out as the whole group is. All parts have the same layout.
GroupSpec part_of(const GroupSpec& group, int part);

/// Entries of a state in a shard: those of the rank with the most, so that the shards of all are
/// alike.
std::int64_t shard_entries(const StateSpec& state, const GroupSpec& group, int shards);

/// What of a group shares a scale in fp8 (ParameterSpec::fp8_scale): tensors that follow one
/// another.
struct ScaledRun {
  int scale = none;
  std::int64_t offset = 0, elements = 0;  // in the group
};
std::vector<ScaledRun> scaled_runs(const GroupSpec& group);

}  // namespace trainx::program
