// Ranks as a grid: how many differ along each axis, and which ones.
#pragma once
#include "program/axes.hpp"
#include <array>
#include <vector>

namespace trainx::program {

struct Mesh {
  int world = 1;     // all ranks
  int shard = 1;     // how many of those with rows of their own share what is cut into shards
  int experts = 1;   // how many neighbours share the experts of each layer
  int context = 1;   // how many of those with rows of their own share one batch, cut by tokens
  int tensor = 1;    // how many neighbours share the rows of one batch and the parts of each layer
  int pipeline = 1;  // how many stages compute some of the layers each

  Mesh() = default;
  /// Both are said, so that a number in braces is never taken for one of them.
  Mesh(int ranks, int shard_ranks) : world(ranks), shard(shard_ranks) {}

  /// One factor of an axis: its ranks, each `stride` from the next.
  struct Dimension {
    AxisSet factor;
    int ranks = 1, stride = 1;
  };
  /// Outermost first.
  std::array<Dimension, std::size_t{AxisSet::factors_of_axis} * axis_count> dimensions() const;
  /// Does one divide the other? Else ranks that share one thing and another are no grid.
  static bool is_grid(int some, int others) { return some % others == 0 || others % some == 0; }
  int ranks() const { return world; }
  /// Ranks of one stage, which are neighbours, and which stage a rank is of.
  int stage_ranks() const { return world / pipeline; }
  int stage_of(int rank) const { return rank / stage_ranks(); }
  /// Of a stage: ranks with rows of their own, which may share shards.
  int row_ranks() const { return stage_ranks() / tensor; }
  /// Ranks with a batch of their own; those that share one are neighbours.
  int batches() const { return row_ranks() / context; }
  int batch_of(int rank) const { return rank % stage_ranks() / (tensor * context); }
  /// Ranks that differ along the set alone.
  int size(AxisSet set) const;
  /// Which of those `rank` is, from 0.
  int place(AxisSet set, int rank) const;
  /// Those ranks, with `rank` itself, ascending.
  std::vector<int> peers(AxisSet set, int rank) const;
  /// Of those, how many are among `neighbours` ranks behind one another.
  int among_neighbours(AxisSet set, int neighbours) const;
  /// The set without what has one rank: equal where the same ranks differ along two sets.
  AxisSet significant(AxisSet set) const;
  bool operator==(const Mesh&) const = default;
};

}  // namespace trainx::program
