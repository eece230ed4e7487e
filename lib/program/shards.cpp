#include "program/shards.hpp"
#include "program/round_up.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

/// Tensors begin on multiples of `alignment`, but for those that begin where the one before ends: a
/// block may read both as one.
void align(GroupSpec& group, std::int64_t alignment) {
  std::int64_t end_before = 0, end = 0;  // of the tensor before: where it was, where it is
  for (ParameterSpec& p : group.parameters) {
    const bool continues = p.offset > 0 && p.offset == end_before;
    end_before = p.offset + p.elements();
    p.offset = continues ? end : round_up(end, alignment);
    end = p.offset + p.elements();
  }
  group.elements = round_up(end, alignment);
}

/// Does every border between shards of that size leave the blocks of the tensor that it cuts whole?
bool keeps_blocks(const GroupSpec& group, std::int64_t shard) {
  for (const ParameterSpec& p : group.parameters)
    for (std::int64_t border = round_up(p.offset + 1, shard); border < p.offset + p.elements();
         border += shard)
      if ((border - p.offset) % state_block != 0) return false;
  return true;
}

/// The least size of shards, of which as many hold the group.
std::int64_t shard_size(const GroupSpec& group, int shards, Unit unit) {
  const std::int64_t alignment = unit == Unit::block ? state_block : group_alignment;
  std::int64_t shard = round_up((group.elements + shards - 1) / shards, alignment);
  if (unit == Unit::block)
    // ends at the latest where no border cuts a tensor
    while (!keeps_blocks(group, shard)) shard += alignment;
  return shard;
}

GroupSpec divisible(GroupSpec group, int shards, Unit unit) {
  if (group.parts.are_several()) {  // which have the same layout
    if (shards == 1) return group;
    group.elements = shard_size(part_of(group, 0), shards, unit) * shards * group.parts.count;
    return group;
  }
  if (unit == Unit::block) align(group, state_block);
  group.elements = shard_size(group, shards, unit) * shards;
  return group;
}

}  // namespace

AxisSet shard_axes(const GroupSpec& group) { return axes::shard - group.parts.along; }

bool is_sharded(const GroupSpec& group, const Mesh& mesh) {
  return mesh.size(shard_axes(group)) > 1;
}

Layout trained_layout(const GroupSpec& group, const Mesh& mesh) {
  Layout layout;
  if (group.parts.are_several()) layout = layout.cut(group.parts.along);
  return is_sharded(group, mesh) ? layout.cut(shard_axes(group)) : layout;
}

ModelGraph divisible(ModelGraph graph, const Mesh& mesh, Unit unit) {
  for (GroupSpec& group : graph.groups) {
    const int shards = is_sharded(group, mesh) ? mesh.size(shard_axes(group)) : 1;
    group = divisible(std::move(group), shards, unit);
  }
  for (BlockSpec& block : graph.blocks)
    for (SlotSpec& slot : block.slots)
      if (slot.role == Role::parameter || slot.role == Role::gradient)
        slot.tensor.dims = {graph.groups[static_cast<std::size_t>(slot.index)].elements};
  return graph;
}

GroupSpec shard_of(const GroupSpec& group, int rank, int shards) {
  const std::int64_t size = group.elements / shards, begin = rank * size, end = begin + size;
  GroupSpec shard{group.name, {}, size, group.training};
  for (const ParameterSpec& p : group.parameters) {
    const std::int64_t from = std::max(begin, p.offset),
                       to = std::min(end, p.offset + p.elements());
    if (from >= to) continue;
    ParameterSpec part = p;
    part.offset = from - begin;
    if (to - from < p.elements()) {
      part.slice = p.slice.behind(from - p.offset);
      part.of_elements = p.tensor_elements();
      part.dims = {to - from};
      part.saved_dims.clear();
    }
    shard.parameters.push_back(std::move(part));
  }
  return shard;
}

namespace {

/// What the part has of the tensor.
void cut(ParameterSpec& p, int parts, int part) {
  const auto at = static_cast<std::size_t>(p.cut_dimension), last = p.dims.size() - 1;
  const std::int64_t all = p.tensor_elements(), whole = p.dims[at];
  const std::int64_t own = p.dims[at] = whole / parts;
  if (!p.saved_dims.empty()) {
    // files hold the last two dimensions the other way round
    const bool swapped = p.saved_transposed && last > 0 && at + 1 >= last;
    std::int64_t& saved = p.saved_dims[swapped ? 2 * last - 1 - at : at];
    // the last parts of a padded vocabulary have fewer rows of it
    saved = at == 0 && saved < whole ? std::clamp<std::int64_t>(saved - part * own, 0, own)
                                     : saved / parts;
  }
  std::int64_t row = 1;  // elements of one entry of the dimension
  for (std::size_t d = at + 1; d <= last; ++d) row *= p.dims[d];
  p.slice = {.first = part * own * row};
  if (at > 0)
    p.slice = {.first = part * own * row, .columns = own * row, .row_elements = whole * row};
  if (!p.sections.empty()) p.slice = {};
  std::int64_t section = 0;
  for (const std::int64_t of_section : p.sections) {
    p.slice.runs.push_back({(section + part * of_section / parts) * row, of_section / parts * row});
    section += of_section;
  }
  p.of_elements = all;
}

}  // namespace

GroupSpec part_of(const GroupSpec& group, int part) {
  if (!group.parts.are_several()) return group;
  GroupSpec own{group.name, {}, group.part_elements(), group.training};
  std::int64_t end_before = none, end = 0;  // of the tensor before: in the whole group, here
  for (const ParameterSpec& p : group.parameters) {
    if (p.part != none && p.part != part) continue;
    ParameterSpec& mine = own.parameters.emplace_back(p);
    if (p.part == none) cut(mine, group.parts.count, part);
    mine.part = none;
    mine.offset = p.offset == end_before ? end : round_up(end, group_alignment);
    end_before = p.offset + p.elements();
    end = mine.offset + mine.elements();
  }
  return own;
}

LocalGroup local(const GroupSpec& group, const Layout& layout, const Mesh& mesh, int rank) {
  LocalGroup own{group};
  bool in_parts = group.parts.are_several();
  for (const AxisSet along : layout.cuts()) {
    if (along.is_empty()) break;
    const int count = mesh.size(along), place = mesh.place(along, rank);
    own.first += place * (own.spec.elements / count);
    own.spec = in_parts ? part_of(own.spec, place) : shard_of(own.spec, place, count);
    in_parts = false;
  }
  return own;
}

std::vector<Layout> layouts_of(const StepProgram& p, const ModelGraph& graph) {
  std::vector<Layout> layouts(graph.groups.size());
  for (const Buffer& b : p.buffers) {
    if (!is_of_group(b)) continue;
    Layout& most = layouts[static_cast<std::size_t>(b.index)];
    if (b.layout.parts(p.mesh) > most.parts(p.mesh)) most = b.layout;
  }
  return layouts;
}

std::int64_t local_entries(const StateSpec& state, const GroupSpec& group, const Layout& layout,
                           const Mesh& mesh) {
  if (!state.dims) return group.parameters.empty() ? 0 : group.elements / layout.parts(mesh);
  std::int64_t most = 0;
  for (const int rank : mesh.peers(layout.along(), 0))
    most = std::max(most, state_layout(state, local(group, layout, mesh, rank).spec).entries);
  return most;
}

std::vector<ScaledRun> scaled_runs(const GroupSpec& group) {
  std::vector<ScaledRun> runs;
  for (const ParameterSpec& p : group.parameters) {
    const bool continues = !runs.empty() && runs.back().scale == p.fp8_scale &&
                           runs.back().offset + runs.back().elements == p.offset;
    if (continues)
      runs.back().elements += p.elements();
    else
      runs.push_back({p.fp8_scale, p.offset, p.elements()});
  }
  return runs;
}

}  // namespace trainx::program
