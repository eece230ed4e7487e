#include "plan/choose/space_walk.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

// How much less than the best of all layers' levels a mix of two may take: what is copied lasts as
// long there as what is recomputed.
constexpr double gained_by_mixes = 0.1;
// The same of deep models, whose mixes are each weighed whole.
constexpr double gained_by_mixes_of_deep = 0.01;
// How much less than between two levels a mix of them may take beside copies.
constexpr double slack_of_mixes = 0.02;
// Deep models are cut into so many parts of layers for such a mix: each is weighed whole.
constexpr int finest_mixes = 8;
// By how much seconds that are estimated from fewer layers may be off beside each other.
constexpr double slack_of_seconds = 0.01;

}  // namespace

void SpaceWalk::push(Task task) {
  task.order = pushed_++;
  tasks_.push(task);
}

/// Whether the cell may fit with some level of all layers, or with segments of layers.
bool SpaceWalk::fits_at_all(const Cell& cell) {
  for (int depth = cells_.whole(); depth >= 0; depth -= space_.depth->layers) {
    const auto [choice, takes] = cells_.estimated(cells_.choice_of(cell, depth), false);
    finds_.note_smallest(choice, takes.bytes);
    if (cells_.nearly_fits(choice, takes)) return true;
  }
  return settler_.may_fit_in_segments(cell);
}

/// The first micro-batch that fits with no recomputation: larger ones need no less memory. Segments
/// can only be weighed whole, so the smallest comes first: if it does not fit, no other is weighed.
std::size_t SpaceWalk::first_too_large(Cell cell) {
  const auto& sizes = space_.micro_batch_sizes;
  const bool has_whole = sizes.back() == search_.evaluator().samples();
  const auto fits = [&](std::size_t micro) {
    cell.micro = micro;
    return fits_at_all(cell);
  };
  if (!fits(0)) return 0;
  std::size_t low = 0, high = sizes.size() - (has_whole ? 1 : 0);
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return high;
}

/// By memory alone, with the most recomputation; of shallow models with any.
bool SpaceWalk::may_fit(const Cell& cell) {
  const auto& sizes = space_.micro_batch_sizes;
  // gradients of several micro-steps are added up, which takes memory: the whole batch at once may
  // fit where less does not
  const bool is_whole = sizes[cell.micro] == search_.evaluator().samples();
  TooLarge& too_large =
      too_large_.try_emplace({cell.mode, cell.experts, cell.on_host}, TooLarge{sizes.size()})
          .first->second;
  if (cell.micro >= too_large.first && !is_whole) return false;
  const int layers = space_.depth ? space_.depth->layers : 1;
  for (int depth = cells_.whole(); depth >= 0; depth -= layers) {
    auto [choice, takes] = cells_.estimated(cells_.choice_of(cell, depth), false);
    finds_.note_smallest(choice, takes.bytes);
    if (cells_.nearly_fits(choice, takes)) return true;
    if (depth == cells_.whole()) {
      takes.bytes = std::max<std::int64_t>(1, takes.bytes - cells_.most_saved_by_segments(cell));
      if (cells_.nearly_fits(choice, takes)) {
        if (is_whole || too_large.weighs_segments) return true;
        too_large = {std::min(too_large.first, first_too_large(cell)), true};
        return cell.micro < too_large.first;
      }
    }
    if (!search_.estimator().is_exact()) break;
  }
  too_large.first = std::min(too_large.first, cell.micro);
  return false;
}

/// The cells with one more thing on the host, each of which takes at least so long.
void SpaceWalk::push_more_on_host(const Cell& cell, double least_s) {
  for (const Cell& more : cells_.with_more_on_host(cell))
    push({.seconds = least_s, .kind = Task::Kind::bound, .cell = more});
}

/// Without recomputation: the least seconds of the cell, and of those with more on the host.
void SpaceWalk::bound(const Task& task) {
  const Cell& cell = task.cell;
  if (!may_fit(cell)) return push_more_on_host(cell, task.seconds);
  Decisions none = cells_.choice_of(cell, 0);
  const Evaluation takes = cells_.estimated(none, true).takes;
  const bool fits = cells_.nearly_fits(none, takes);
  double least_s = takes.seconds;
  if (space_.keeps_weights && search_.knows_links() && none.mode == recipe::ParallelMode::zero3) {
    none.turns_kept = whole_step;
    least_s = std::min(least_s, cells_.estimated(none, true).takes.seconds);
  }
  push_more_on_host(cell, least_s);
  const bool copies = cell.on_host.activations;  // what is recomputed need not be copied
  if (space_.depth && (copies || !fits))
    push({.seconds = copies ? task.seconds : least_s, .kind = Task::Kind::levels, .cell = cell});
  else if (fits)
    push({.seconds = least_s, .kind = Task::Kind::weigh, .cell = cell});
}

/// Which levels the cell fits with, and how long it takes with the least.
void SpaceWalk::weigh_levels(const Task& task) {
  const Depth& depth = *space_.depth;
  const auto weigh_at = [&](double seconds, int at) {
    push({.seconds = std::max(task.seconds, seconds),
          .kind = Task::Kind::weigh,
          .cell = task.cell,
          .depth = at});
  };
  Evaluation before;
  std::optional<int> last;  // of the levels with which all that is copied fits
  for (int level = 0; level < std::ssize(depth.levels); ++level) {
    const int at = level * depth.layers;
    const auto [choice, takes] = cells_.estimated(cells_.choice_of(task.cell, at), false);
    finds_.note_smallest(choice, takes.bytes);
    if (!cells_.nearly_fits(choice, takes)) {
      before = takes;
      continue;
    }
    const double seconds = cells_.estimated(choice, true).takes.seconds;
    if (task.cell.on_host.activations) {
      last = at;
      if (search_.knows_copies()) weigh_at((1 - gained_by_mixes) * seconds, at);
      continue;
    }
    if (level == 0) return weigh_at(seconds, 0);
    // some of the layers at this level, the rest at the one before
    const double less_s =
        cells_.estimated(cells_.choice_of(task.cell, at - depth.layers), true).takes.seconds;
    const double saved = static_cast<double>(before.bytes - takes.bytes),
                 needed = static_cast<double>(before.bytes - search_.budget().bytes),
                 share = saved <= 0 ? 1 : std::clamp(needed / saved, 0.0, 1.0);
    return weigh_at((1 - slack_of_mixes) * std::min(seconds, less_s + share * (seconds - less_s)),
                    std::max(0, at - static_cast<int>((1 - share) * depth.layers)));
  }
  // how long copies take is not known: the level that leaves the least to copy
  if (last && !search_.knows_copies()) weigh_at(task.seconds, *last);
  if (task.cell.on_host.activations) return;
  Evaluation less = before;
  const std::int64_t saved = cells_.most_saved_by_segments(task.cell);
  less.bytes = std::max<std::int64_t>(1, before.bytes - saved);
  const Decisions most = cells_.choice_of(task.cell, depth.whole());
  if (saved > 0 && cells_.nearly_fits(most, less))
    weigh_at(cells_.estimated(most, true).takes.seconds, depth.whole() + 1);
}

/// All layers at one level; then mixes, behind all that may be faster.
void SpaceWalk::weigh_copied(const Cell& cell, int depth) {
  const auto seconds = finds_.take(settler_.settled(cells_.choice_of(cell, depth)));
  if (!search_.knows_copies() || !space_.depth || !seconds) return;
  const double gained = search_.estimator().is_exact() ? gained_by_mixes : gained_by_mixes_of_deep;
  push({.seconds = (1 - gained) * *seconds,
        .kind = Task::Kind::mixes,
        .cell = cell,
        .depth = depth,
        .level_s = *seconds});
}

/// What is not recomputed is copied: from all layers at one level to a mix of two, by ever smaller
/// steps to where a step takes the least time.
void SpaceWalk::weigh_mixes(const Task& task) {
  double least = task.level_s;
  int depth = task.depth;
  const bool is_deep = !search_.estimator().is_exact();
  const int layers = space_.depth->layers,
            finest = is_deep ? std::max(1, layers / finest_mixes) : 1;
  for (int step = std::max(finest, layers / 2); step >= finest; step /= 2) {
    const int from = depth;
    for (const int d : {from - step, from + step}) {
      if (d < 0 || d > cells_.whole()) continue;
      const auto seconds = finds_.take(settler_.settled(cells_.choice_of(task.cell, d)));
      if (seconds && *seconds < least) least = *seconds, depth = d;
    }
  }
}

void SpaceWalk::weigh(const Task& task) {
  if (task.cell.on_host.activations) return weigh_copied(task.cell, task.depth);
  const auto depth = settler_.least_depth(task.cell, task.depth);
  if (!depth) return;
  const auto seconds = finds_.take(settler_.settled(cells_.choice_of(task.cell, *depth)));
  if (seconds) weigh_whole_levels(task.cell, *depth, *seconds);
}

/// Beside copies to the host all layers at one level may take less time than a mix that computes
/// less again: what lies between two copies is as long everywhere.
void SpaceWalk::weigh_whole_levels(const Cell& cell, int depth, double seconds) {
  if (!space_.depth || (!cell.on_host.weights && !cell.on_host.optimizer)) return;
  for (int d = 0; d <= cells_.whole(); d += space_.depth->layers)
    if (d > depth && cells_.estimated(cells_.choice_of(cell, d), true).takes.seconds < seconds)
      finds_.take(settler_.settled(cells_.choice_of(cell, d)));
}

bool SpaceWalk::matters(const Task& task) const {
  // the bound of mixes follows from a level that was weighed whole
  const bool is_estimated = !search_.estimator().is_exact() && task.kind != Task::Kind::mixes;
  const double least = task.seconds * (is_estimated ? 1 - slack_of_seconds : 1);
  if (least >= search_.limit_s()) {
    search_.pass_over();
    return false;
  }
  if (least < finds_.seconds_to_beat()) return true;
  const Way* best = finds_.chosen();
  return (1 - worthwhile) * least <= best->takes.seconds &&
         is_simpler(cells_.choice_of(task.cell, task.depth), best->choice, space_);
}

Found SpaceWalk::find() {
  for (std::size_t mode = 0; mode < space_.modes.size(); ++mode)
    for (std::size_t experts = 0; experts < space_.experts.size(); ++experts)
      for (std::size_t micro = 0; micro < space_.micro_batch_sizes.size(); ++micro)
        if (const Cell cell{mode, experts, micro, space_.on_host.front()}; cells_.is_possible(cell))
          push({.cell = cell});
  while (!tasks_.empty()) {
    const Task task = tasks_.top();
    tasks_.pop();
    if (!matters(task)) continue;
    switch (task.kind) {
      case Task::Kind::bound: bound(task); break;
      case Task::Kind::levels: weigh_levels(task); break;
      case Task::Kind::weigh: weigh(task); break;
      case Task::Kind::mixes: weigh_mixes(task); break;
    }
  }
  return finds_.ended();
}

}  // namespace trainx::plan
