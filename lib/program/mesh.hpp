// Ranks as a grid: in which ways they differ, and who makes a collective with whom.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainx::program {

/// Along which the ranks of a collective differ.
enum class Axis : std::uint8_t {
  data,            // all ranks: each has rows of its own
  shard,           // neighbours, each with a shard of its own
  replica,         // those with the same shard, one of each group of neighbours
  expert,          // neighbours, each with experts of its own
  expert_replica,  // those with the same experts, one of each group of neighbours
};
constexpr int axis_count = 5;

struct Mesh {
  int data = 1;     // ranks that share a batch
  int shard = 1;    // divides data: how many of them, neighbours, share what is cut into shards
  int experts = 1;  // divides data: how many of them, neighbours, share the experts of each layer

  Mesh() = default;
  /// Both are said, so that a number in braces is never taken for one of them.
  Mesh(int data_ranks, int shard_ranks) : data(data_ranks), shard(shard_ranks) {}

  int ranks() const { return data; }
  bool has_replicas() const { return shard > 1 && shard < data; }
  /// Are there groups of ranks that share experts, beside the group of all?
  bool has_expert_replicas() const { return experts > 1 && experts < data; }
  /// Ranks along it.
  int size(Axis axis) const;
  /// Which of those `rank` is, from 0.
  int place(Axis axis, int rank) const;
  /// Those ranks, with `rank` itself, ascending.
  std::vector<int> peers(Axis axis, int rank) const;
  bool operator==(const Mesh&) const = default;
};

std::string_view name_of(Axis axis);

}  // namespace trainx::program
