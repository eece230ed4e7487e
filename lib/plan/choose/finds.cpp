#include "plan/choose/finds.hpp"
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace trainx::plan {

std::optional<double> Finds::take(const Decisions& choice) {
  const Evaluation& takes = search_.evaluator().of(choice);
  note_smallest(choice, takes.bytes);
  if (!search_.fits(choice, takes)) return std::nullopt;
  found_.fitting.push_back({choice, takes});
  return takes.seconds;
}

void Finds::note_smallest(const Decisions& choice, std::int64_t bytes) {
  if (has_smallest() && bytes >= found_.smallest.takes.bytes) return;
  found_.smallest = {choice, {.bytes = bytes}};
}

const Way* Finds::chosen() const {
  return simplest_of(found_.fitting, least_seconds_of(found_.fitting), space_);
}

double Finds::seconds_to_beat() const {
  const Way* best = chosen();
  if (!best) return std::numeric_limits<double>::infinity();
  if (ways_ <= 1) return (1 - worthwhile) * best->takes.seconds;
  std::map<std::tuple<recipe::ParallelMode, int, int, recipe::ActivationOffload,
                      recipe::OptimizerOffload, recipe::ParameterOffload>,
           double>
      kinds;
  for (const Way& w : found_.fitting) {
    const Decisions& c = w.choice;
    double& s = kinds[{c.mode, c.shard, c.experts, c.activations, c.optimizer, c.weights}];
    s = s == 0 ? w.takes.seconds : std::min(s, w.takes.seconds);
  }
  if (std::ssize(kinds) < ways_) return std::numeric_limits<double>::infinity();
  std::vector<double> seconds;
  for (const auto& [kind, s] : kinds) seconds.push_back(s);
  std::ranges::sort(seconds);
  return seconds[static_cast<std::size_t>(ways_ - 1)];
}

Found Finds::ended() {
  if (const Way* best = chosen())
    found_.chosen = static_cast<std::size_t>(best - found_.fitting.data());
  return std::move(found_);
}

}  // namespace trainx::plan
