// Which choices a recipe leaves open.
#pragma once
#include "plan/choose/depth.hpp"
#include <compare>
#include <optional>
#include <vector>

namespace trainx::plan {

/// What lies on the host though the recipe does not say so.
struct OnHost {
  bool activations = false, optimizer = false, weights = false;
  bool any() const { return activations || optimizer || weights; }
  auto operator<=>(const OnHost&) const = default;
};

struct ModeOfShards {
  recipe::ParallelMode mode = recipe::ParallelMode::single;
  int shard = 1;
  bool operator==(const ModeOfShards&) const = default;
};

/// All combinations of these. Each list has one entry at least, and begins with what is preferred.
struct Space {
  Decisions written;  // what is not free
  std::vector<ModeOfShards> modes;
  std::vector<int> experts{1};                  // ranks that share them
  std::vector<std::int64_t> micro_batch_sizes;  // ascending
  std::optional<Depth> depth;                   // nothing: what is recomputed is written
  std::vector<OnHost> on_host{{}};
  std::vector<int> groups_on_device{0};
  // shards of all ranks only where those of one node do not fit: nothing is gathered between nodes
  bool node_first = false;
  bool keeps_weights = false;  // zero3: how long gathered weights stay
  bool casts = false;          // weights in fp8, once a step or in each use
  // by which a larger micro-batch is preferred where times are not known
  std::int64_t samples_that_fill = 1;
};

/// Which values of the recipe a search may change.
enum class Freedom : std::uint8_t {
  unwritten,  ///< what is auto
  to_fit,     ///< with memory.fit: levers as well, and micro-batches smaller than is written
  any,        ///< all that leaves numbers as they are: for advice
};
/// Throws UserError 78 if no micro-batch can be planned.
Space space_of(const Draft& plan, Freedom freedom, std::int64_t local_ranks);

/// Why there can be no shards, as the rest of a sentence; "" if there can.
std::string why_no_shards(const Draft& plan);
/// Whether a GPU's optimizer could move to the host: it has states, and needs no sums over sharded
/// tensors.
bool may_update_on_host(const Draft& plan);

/// Ranks of one node, if there are several nodes of as many; else 0.
std::int64_t ranks_of_a_node(const Draft& plan, std::int64_t local_ranks);

}  // namespace trainx::plan
