#include "plan/choose/search.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/space_walk.hpp"
#include "plan/choose/untimed_walk.hpp"
#include <algorithm>
#include <set>

namespace trainx::plan {
namespace {

// By how much less a step may take with another micro-batch than the largest.
constexpr double slack_of_least = 0.02;

}  // namespace

Search::Search(Evaluator& evaluator, Budget budget)
    : evaluator_(evaluator), estimator_(evaluator), budget_(budget) {}

Budget budget_of(const Draft& plan) {
  return {plan.budget_bytes, host_budget(plan, plan.on_gpu ? 0 : plan.budget_bytes)};
}

bool Search::fits_host(const Evaluation& takes) const {
  const std::int64_t bytes = evaluator_.problem().on_gpu ? takes.host_bytes : takes.bytes;
  return budget_.host_bytes <= 0 || bytes <= budget_.host_bytes;
}

bool Search::fits(const Decisions& choice, const Evaluation& takes) const {
  return (budget_.bytes <= 0 || takes.bytes <= budget_.bytes) &&
         (budget_.host_bytes <= 0 || takes.host_bytes <= budget_.host_bytes) &&
         // where nothing stays long enough to be copied nothing is put on the host
         (choice.activations == evaluator_.problem().recipe.memory.activation_offload ||
          takes.offloaded_bytes > 0);
}

bool Search::knows_links() const {
  return evaluator_.rates() && evaluator_.rates()->link_bytes_per_s > 0;
}
bool Search::knows_copies() const {
  return evaluator_.rates() && evaluator_.rates()->host_bytes_per_s > 0;
}

Found Search::find(const Space& space, int ways) {
  // Where times are not known the first mode, and the least on the host, that fits.
  std::vector<std::vector<OnHost>> places;
  std::vector<std::vector<ModeOfShards>> modes;
  if (knows_copies())
    places = {space.on_host};
  else
    for (const OnHost& place : space.on_host) places.push_back({place});
  std::vector<ModeOfShards> within, among_all;  // a node
  for (const ModeOfShards& mode : space.modes)
    (mode.shard < evaluator_.problem().mesh.row_ranks() ? within : among_all).push_back(mode);
  const bool node_first = space.node_first && !among_all.empty() &&
                          std::ranges::any_of(within, [](auto& m) { return m.shard > 1; });
  if (knows_links() && node_first)
    modes = {within, among_all};
  else if (knows_links() || space.modes.size() == 1)
    modes = {space.modes};
  else
    for (const ModeOfShards& mode : space.modes) modes.push_back({mode});
  Found found;
  for (const auto& on_host : places)
    for (const auto& mode : modes) {
      Space part = space;
      part.on_host = on_host;
      part.modes = mode;
      if (!knows_links()) part.experts.resize(1);
      Found more = evaluator_.rates() ? SpaceWalk(*this, part, ways).find()
                                      : UntimedWalk(*this, part).find();
      if (more.best()) return more;
      if (found.smallest.takes.bytes == 0 || more.smallest.takes.bytes < found.smallest.takes.bytes)
        found = std::move(more);
    }
  return found;
}

double Search::least_seconds(const Space& space) {
  if (!evaluator_.rates()) return 0;
  double least = std::numeric_limits<double>::infinity();
  std::set<recipe::ParallelMode> known;  // shards of fewer ranks come first, and take no longer
  for (const ModeOfShards& mode : space.modes) {
    if (!known.insert(mode.mode).second) continue;
    Decisions choice = space.written;
    choice.mode = mode.mode, choice.shard = mode.shard;
    choice.micro_batch_size = space.micro_batch_sizes.back();
    if (space.depth) choice.levels = {RecomputeLevel::none};
    if (mode.mode == recipe::ParallelMode::zero3) choice.turns_kept = whole_step;
    least = std::min(least, estimator_.of(choice).seconds);
  }
  return (1 - slack_of_least) * least;
}

namespace {

/// Of all layers, in levels.
double recomputed(const Decisions& c) {
  double levels = 0;
  for (const RecomputeLevel l : c.levels) levels += static_cast<double>(l);
  return levels / static_cast<double>(c.levels.size()) + static_cast<double>(c.segment - 1);
}

}  // namespace

bool is_simpler(const Decisions& choice, const Decisions& than, const Space& space) {
  const auto order = [&](const Decisions& c) {
    const auto mode = std::ranges::find(space.modes, ModeOfShards{c.mode, c.shard});
    return std::tuple(c.weights, c.optimizer, c.activations, mode - space.modes.begin(), c.experts,
                      recomputed(c));
  };
  if (order(choice) != order(than)) return order(choice) < order(than);
  return choice.micro_batch_size < than.micro_batch_size;
}

const Way* simplest_of(const std::vector<Way>& ways, double fastest_s, const Space& space) {
  const Way* best = nullptr;
  for (const Way& way : ways)
    if ((1 - worthwhile) * way.takes.seconds <= fastest_s &&
        (!best || is_simpler(way.choice, best->choice, space)))
      best = &way;
  return best;
}

double least_seconds_of(const std::vector<Way>& ways) {
  double least = std::numeric_limits<double>::infinity();
  for (const Way& way : ways) least = std::min(least, way.takes.seconds);
  return least;
}

}  // namespace trainx::plan
