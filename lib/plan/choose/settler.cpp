#include "plan/choose/settler.hpp"
#include "plan/limits.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {
namespace {

// A smaller gain is not worth the memory that a share of the optimizer or weights that stay take.
constexpr double least_gain = 0.005;
// Of deeper models so many of their layers change their level together.
constexpr int finest_layers = 64;

/// The smallest of [low, high] for which holds(it), where all above hold too; high + 1: none.
/// Begins near `guess`.
template <class Holds>
int least_that(int low, int high, int guess, const Holds& holds) {
  int below = low - 1, at = high + 1;  // does not hold; holds
  for (int step = 1, k = std::clamp(guess, low, high); k > below && k < at; step *= 2) {
    if (holds(k))
      at = k, k = std::max(low, k - step);
    else
      below = k, k = std::min(high, k + step);
    if (at - below <= 1 || (at <= high && below >= low)) break;
  }
  while (at - below > 1) {
    const int middle = (below + at) / 2;
    (holds(middle) ? at : below) = middle;
  }
  return at;
}

}  // namespace

int Settler::grain() const {
  return space_.depth ? std::max(1, space_.depth->layers / finest_layers) : 1;
}

Way Settler::at_depth(const Cell& cell, int depth) {
  const auto weigh = [&](const Decisions& c) { return search_.evaluator().memory_of(c); };
  const Decisions choice = cells_.completed(cells_.choice_of(cell, depth), weigh);
  const Evaluation takes = weigh(choice);
  finds_.note_smallest(choice, takes.bytes);
  return {choice, takes};
}

/// Bytes that a layer saves which goes from the level below `depth` to the one above, by an
/// estimate.
double Settler::saved_by_a_layer(const Cell& cell, int depth) {
  const int layers = space_.depth->layers,
            level = std::clamp((depth - 1) / layers, 0, cells_.whole() / layers - 1);
  const auto bytes = [&](int at) {
    return cells_.estimated(cells_.choice_of(cell, at * layers), false).takes.bytes;
  };
  return static_cast<double>(bytes(level) - bytes(level + 1)) / layers;
}

/// Of a deep model, whose layers save as much each: steps of as many layers as what is left of the
/// budget, or is missing, asks for.
int Settler::least_step_of_deep(const Cell& cell, int guess, int last) {
  constexpr int most_guesses = 6;  // then by halves
  int below = -1, at = last + 1;   // does not fit; fits
  for (int k = std::clamp(guess, 0, last), tried = 0; at - below > 1; ++tried) {
    const int depth = std::min(k * grain(), cells_.whole());
    const auto [choice, takes] = at_depth(cell, depth);
    const bool fits = search_.fits(choice, takes);
    (fits ? at : below) = k;
    const double over = static_cast<double>(takes.bytes - search_.budget().bytes),
                 saved = saved_by_a_layer(cell, depth) * grain();
    const bool knows = saved > 0 && fits == (over <= 0) && tried < most_guesses;
    const int next =
        !knows ? (below + at) / 2
               : k + static_cast<int>(std::clamp(std::ceil(over / saved), -1.0 * last, 1.0 * last));
    k = std::clamp(next, below + 1, std::max(below + 1, at - 1));
  }
  return at;
}

std::optional<int> Settler::least_depth(const Cell& cell, int guess) {
  if (!space_.depth) return 0;
  const Depth& depth = *space_.depth;
  const auto fits = [&](int d) {
    const auto [choice, takes] = at_depth(cell, d);
    return search_.fits(choice, takes);
  };
  const int together = grain(), last = (depth.whole() + together - 1) / together;
  const auto at = [&](int k) { return std::min(k * together, depth.whole()); };
  if (guess <= depth.whole()) {
    const int first = (guess + together - 1) / together;
    const int k = search_.estimator().is_exact() || depth.whole() == 0
                      ? least_that(0, last, first, [&](int tried) { return fits(at(tried)); })
                      : least_step_of_deep(cell, first, last);
    if (k <= last) return at(k);
  }
  // segments of about the root of all layers save the most
  if (!search_.estimator().is_exact() && !fits(depth.most())) return std::nullopt;
  for (int d = depth.whole() + 1; d <= depth.most(); d += std::max(1, (d - depth.whole()) / 2))
    if (fits(d)) return d;
  return std::nullopt;
}

bool Settler::may_fit_in_segments(const Cell& cell) {
  if (search_.estimator().is_exact()) return least_depth(cell, cells_.whole() + 1).has_value();
  const auto [choice, takes] = at_depth(cell, space_.depth->most());
  return cells_.nearly_fits(choice, takes);
}

/// Of a deep model: gathered weights stay as long as they fit, if that may save time.
Decisions Settler::longest_that_fits(const Decisions& choice) {
  Decisions uniform = choice;
  uniform.levels.resize(1);
  uniform.segment = 1;
  const double again_s = cells_.estimated(uniform, true).takes.seconds;
  uniform.turns_kept = whole_step;
  if (cells_.estimated(uniform, true).takes.seconds > (1 - least_gain) * again_s) return choice;
  Decisions longer = choice;
  const auto turns_of = [](int k) { return 2 << k; };
  const auto fails = [&](int k) {
    longer.turns_kept = turns_of(k);
    return !search_.fits(longer, search_.evaluator().memory_of(longer));
  };
  const int most = static_cast<int>(std::ceil(
      std::log2(4.0 * static_cast<double>(layers_of(search_.evaluator().problem().dims)))));
  const int first = least_that(1, most, most, fails);
  longer.turns_kept = first > 1 ? turns_of(first - 1) : 0;
  return longer;
}

Decisions Settler::settled(Decisions choice) {
  Evaluator& evaluator = search_.evaluator();
  const auto memory = [&](const Decisions& c) { return evaluator.memory_of(c); };
  choice = cells_.completed(choice, memory);
  const auto improve = [&](Decisions other) {
    const Evaluation& now = evaluator.of(choice);
    other = cells_.completed(other, memory);
    const Evaluation& then = evaluator.of(other);
    if (search_.fits(other, then) && then.seconds < (1 - least_gain) * now.seconds) choice = other;
  };
  if (evaluator.rates() && search_.knows_copies())
    for (const int groups : space_.groups_on_device) {
      Decisions other = choice;
      other.groups_on_device = groups;
      improve(other);
    }
  if (!space_.keeps_weights || !search_.knows_links() || choice.mode != recipe::ParallelMode::zero3)
    return choice;
  if (!search_.estimator().is_exact()) {
    const Decisions longer = longest_that_fits(choice);
    if (longer.turns_kept > 0) improve(longer);
    return choice;
  }
  Decisions longer = choice;
  // each twice as long as the one before, to where nothing is gathered twice
  for (int turns = 4; turns < whole_step; turns *= 2) {
    const Evaluation& before = evaluator.memory_of(longer);
    if (before.gathers <= before.gathered_groups) break;
    longer.turns_kept = turns;
    improve(longer);
  }
  return choice;
}

}  // namespace trainx::plan
