#include "plan/choose/untimed_walk.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {

std::optional<int> UntimedWalk::guessed_depth(const Cell& cell) {
  if (!space_.depth) {
    const auto [choice, takes] = cells_.estimated(cells_.choice_of(cell, 0), false);
    finds_.note_smallest(choice, takes.bytes);
    return cells_.nearly_fits(choice, takes) ? std::optional(0) : std::nullopt;
  }
  const Depth& depth = *space_.depth;
  std::int64_t before = 0;
  for (int level = 0; level < std::ssize(depth.levels); ++level) {
    const auto [choice, takes] =
        cells_.estimated(cells_.choice_of(cell, level * depth.layers), false);
    finds_.note_smallest(choice, takes.bytes);
    if (cells_.nearly_fits(choice, takes)) {
      if (level == 0 || before <= takes.bytes) return level * depth.layers;
      const double share = static_cast<double>(before - search_.budget().bytes) /
                           static_cast<double>(before - takes.bytes);
      return (level - 1) * depth.layers +
             static_cast<int>(std::ceil(std::clamp(share, 0.0, 1.0) * depth.layers));
    }
    before = takes.bytes;
  }
  return std::nullopt;
}

std::optional<int> UntimedWalk::deepest_level(const Cell& cell) {
  const int layers = space_.depth ? space_.depth->layers : 1;
  for (int depth = cells_.whole(); depth >= 0; depth -= layers) {
    const auto [choice, takes] = cells_.estimated(cells_.choice_of(cell, depth), false);
    finds_.note_smallest(choice, takes.bytes);
    if (cells_.nearly_fits(choice, takes)) return depth;
  }
  return std::nullopt;
}

Found UntimedWalk::find() {
  const auto& sizes = space_.micro_batch_sizes;
  const bool on_host = space_.on_host.front().activations;
  struct Guess {
    int depth = 0;
    std::size_t micro = 0;
  };
  std::vector<Guess> guesses;
  for (std::size_t micro = 0; micro < sizes.size(); ++micro) {
    const Cell cell{0, 0, micro, space_.on_host.front()};
    if (!cells_.is_possible(cell)) break;
    // what lies on the host costs nobody knows what: the less is copied the better
    const int at_least = guesses.empty() ? 0 : guesses.back().depth;
    const bool is_exact = search_.estimator().is_exact() && space_.depth;
    const auto depth = on_host    ? deepest_level(cell)
                       : is_exact ? settler_.least_depth(cell, at_least)
                                  : guessed_depth(cell);
    if (depth)
      guesses.push_back({*depth, micro});
    else if (!on_host && space_.depth)
      break;  // larger ones need no less
    else if (!on_host && micro + 2 < sizes.size())
      micro = sizes.size() - 2;  // the whole batch at once may
  }
  const auto fills = [&](const Guess& g) { return sizes[g.micro] >= space_.samples_that_fill; };
  std::ranges::stable_sort(guesses, [&](const Guess& a, const Guess& b) {
    if (a.depth != b.depth) return a.depth < b.depth;
    if (fills(a) && fills(b)) return a.micro < b.micro;
    return !fills(b) && a.micro > b.micro ? true : fills(a) && !fills(b);
  });
  for (const Guess& guess : guesses) {
    const Cell cell{0, 0, guess.micro, space_.on_host.front()};
    if (const auto depth = on_host ? std::optional(guess.depth)
                                   : settler_.least_depth(cell, guess.depth))
      finds_.take(settler_.settled(cells_.choice_of(cell, *depth)));
    if (finds_.any()) break;
  }
  if (!finds_.has_smallest())
    finds_.note_smallest(space_.written, search_.evaluator().memory_of(space_.written).bytes);
  return finds_.ended();
}

}  // namespace trainx::plan
