// What a rank holds of a group: of experts in parts those that are its own, and of that one of
// equal shards, one after the other in the group's buffer, whose borders fall on the optimizer's
// units (of Unit::tensor on elements).
#pragma once
#include "program/states.hpp"
#include <cstdint>

namespace trainx::program {

/// Along what the mesh's shards cut a group: experts in parts among those ranks that have the same.
AxisSet shard_axes(const GroupSpec& group);
/// Do they cut it?
bool is_sharded(const GroupSpec& group, const Mesh& mesh);
/// Of what is trained of a group and kept from step to step.
Layout trained_layout(const GroupSpec& group, const Mesh& mesh);
/// The graph with gaps in its groups such that shards of the mesh divide each, or each of its
/// parts. What has to be contiguous stays so. Unit::tensor is cut as elements are: its updates sum
/// over tensors first.
ModelGraph divisible(ModelGraph graph, const Mesh& mesh, Unit unit);

/// What one rank keeps of a group: its tensors that lie in the shard, parts of those that a border
/// cuts (as plain elements), and how far from the shard's beginning.
GroupSpec shard_of(const GroupSpec& group, int rank, int shards);

/// What a rank computes with of a group in parts: of tensors that all parts share its rows, and the
/// tensors that are its own, laid out as the whole group is. All parts have the same layout.
GroupSpec part_of(const GroupSpec& group, int part);

/// What a rank holds of a group, and with which of the group's elements that begins, where parts
/// follow one another.
struct LocalGroup {
  GroupSpec spec;
  std::int64_t first = 0;
};
LocalGroup local(const GroupSpec& group, const Layout& layout, const Mesh& mesh, int rank);
/// By group: the layout of what the program cuts the most of it.
std::vector<Layout> layouts_of(const StepProgram& p, const ModelGraph& graph);

/// Entries of a state in a part: those of the rank with the most, so that the parts of all are
/// alike.
std::int64_t local_entries(const StateSpec& state, const GroupSpec& group, const Layout& layout,
                           const Mesh& mesh);

/// What of a group shares a scale in fp8 (ParameterSpec::fp8_scale): tensors that follow one
/// another.
struct ScaledRun {
  int scale = none;
  std::int64_t offset = 0, elements = 0;  // in the group
};
std::vector<ScaledRun> scaled_runs(const GroupSpec& group);

}  // namespace trainx::program
