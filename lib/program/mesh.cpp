#include "program/mesh.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::program {

std::array<Mesh::Dimension, std::size_t{2} * axis_count> Mesh::dimensions() const {
  std::array<Dimension, std::size_t{2} * axis_count> out;
  const std::array<int, axis_count> sizes{world / (shard * tensor), shard, tensor};
  int stride = 1, sharing = experts;  // of those that share experts: how many are left
  for (std::size_t k = axis_count; k-- > 0;) {
    const int within = std::min(sharing, sizes[k]);
    if (sharing % within != 0 || sizes[k] % within != 0)
      throw InternalError("ranks that share experts and ranks that share shards are no grid");
    sharing /= within;
    const Axis axis = static_cast<Axis>(k);
    out[2 * k + 1] = {AxisSet::factor(axis, true), within, stride};
    out[2 * k] = {AxisSet::factor(axis, false), sizes[k] / within, stride * within};
    stride *= sizes[k];
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
