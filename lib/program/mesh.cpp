#include "program/mesh.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::program {

namespace {

/// How many of an axis' ranks are among those that share something; `left`: as many as inner axes
/// have not.
int take(int& left, int ranks) {
  const int within = std::min(left, ranks);
  if (left % within != 0 || ranks % within != 0)
    throw InternalError("ranks that share experts, a batch or shards are no grid");
  left /= within;
  return within;
}

}  // namespace

std::array<Mesh::Dimension, std::size_t{AxisSet::factors_of_axis} * axis_count> Mesh::dimensions()
    const {
  std::array<Dimension, std::size_t{AxisSet::factors_of_axis} * axis_count> out;
  const std::array<int, axis_count> sizes{pipeline, row_ranks() / shard, shard, tensor};
  int stride = 1, sharing_experts = experts, sharing_batch = context;
  auto last = out.rbegin();
  for (std::size_t k = axis_count; k-- > 0;) {
    const Axis axis = static_cast<Axis>(k);
    const bool of_layers = axis == Axis::stage || axis == Axis::tensor;  // of one batch
    const int of_experts = axis == Axis::stage ? 1 : take(sharing_experts, sizes[k]),
              of_batch = of_layers ? 1 : take(sharing_batch, sizes[k]);
    if (!is_grid(of_experts, of_batch))
      throw InternalError("ranks that share experts and ranks that share a batch are no grid");
    const int both = std::min(of_experts, of_batch), either = std::max(of_experts, of_batch);
    const auto add = [&](bool experts_too, bool batch_too, int ranks) {
      *last++ = {AxisSet::factor(axis, experts_too, batch_too), ranks, stride};
      stride *= ranks;
    };
    add(true, true, both);
    add(true, false, of_experts / both);
    add(false, true, of_batch / both);
    add(false, false, sizes[k] / either);
  }
  return out;
}

int Mesh::size(AxisSet set) const {
  if (set == axes::all) return world;
  int ranks = 1;
  for (const Dimension& d : dimensions())
    if (set.holds(d.factor)) ranks *= d.ranks;
  return ranks;
}

int Mesh::place(AxisSet set, int rank) const {
  if (set == axes::all) return rank;
  int place = 0;
  for (const Dimension& d : dimensions())
    if (set.holds(d.factor)) place = place * d.ranks + rank / d.stride % d.ranks;
  return place;
}

std::vector<int> Mesh::peers(AxisSet set, int rank) const {
  std::vector<int> out{rank};
  for (const Dimension& d : dimensions()) {
    if (!set.holds(d.factor)) continue;
    std::vector<int> more;
    for (const int other : out)
      for (int k = 0; k < d.ranks; ++k)
        more.push_back(other + (k - rank / d.stride % d.ranks) * d.stride);
    out = std::move(more);
  }
  std::ranges::sort(out);
  return out;
}

int Mesh::among_neighbours(AxisSet set, int neighbours) const {
  if (set == axes::all) return std::min(neighbours, world);
  int ranks = 1;
  for (const Dimension& d : dimensions())
    if (set.holds(d.factor)) ranks *= std::clamp(neighbours / d.stride, 1, d.ranks);
  return ranks;
}

AxisSet Mesh::significant(AxisSet set) const {
  for (const Dimension& d : dimensions())
    if (d.ranks == 1) set = set - d.factor;
  return set;
}

}  // namespace trainx::program
