// The other way round than derive_order: every pair of uses that share bytes is found first, and
// each is looked up in what the waits imply.
#include "program/order.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

struct Span {
  Bytes begin, end;
  int position;
  bool writes;
};
using Counts = std::array<int, lane_count>;

/// For three rounds of a list: how many instructions of each lane have surely finished when an
/// instruction starts.
std::vector<Counts> finished_before(const std::vector<Instruction>& list, const Waits& waits,
                                    const std::vector<int>& index, const Counts& per_round,
                                    int rounds) {
  std::vector<Counts> before(list.size() * static_cast<std::size_t>(rounds));
  // where in `before` each instruction of the lane is
  std::array<std::vector<std::size_t>, lane_count> of_lane;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto lane = static_cast<std::size_t>(list[k].lane);
      const std::size_t me = static_cast<std::size_t>(round) * list.size() + k;
      auto learn = [&](std::size_t other, std::size_t other_lane) {
        for (std::size_t l = 0; l < lane_count; ++l)
          before[me][l] = std::max(before[me][l], before[other][l]);
        before[me][other_lane] = std::max(
            before[me][other_lane], static_cast<int>(other / list.size()) * per_round[other_lane] +
                                        index[other % list.size()] + 1);
      };
      if (!of_lane[lane].empty()) learn(of_lane[lane].back(), lane);
      for (const Wait& w : waits[k]) {
        const auto l = static_cast<std::size_t>(w.lane);
        const int number = (round - w.back) * per_round[l] + w.index;
        if (number < 0) continue;
        // waits for what is listed later: never ends
        if (number >= static_cast<int>(of_lane[l].size())) return {};
        learn(of_lane[l][number], l);
      }
      of_lane[lane].push_back(me);
    }
  return before;
}

bool list_is_ordered(const StepProgram& p, const Placement& at,
                     const std::vector<Instruction>& list, const Waits& waits, bool repeats) {
  if (waits.size() != list.size()) return false;
  if (list.empty()) return true;
  const int rounds = repeats ? 3 : 1;
  Counts per_round{};
  std::vector<int> index;
  for (const Instruction& i : list) index.push_back(per_round[static_cast<int>(i.lane)]++);
  const auto before = finished_before(list, waits, index, per_round, rounds);
  if (before.empty()) return false;
  // Does a of round `from` end before b of the last round begins?
  auto ends_before = [&](int a, int from, int b) {
    const auto lane = static_cast<std::size_t>(list[a].lane);
    return before[static_cast<std::size_t>(rounds - 1) * list.size() + static_cast<std::size_t>(b)]
                 [lane] > from * per_round[lane] + index[a];
  };
  std::array<std::vector<Span>, space_count> spans;
  for (std::size_t k = 0; k < list.size(); ++k)
    for (const Use& u : list[k].uses) {
      const Bytes base = at.base[u.buffer];
      spans[static_cast<int>(p.buffers[u.buffer].space)].push_back(
          {base, base + bytes_of(p, u), static_cast<int>(k), writes(u.how)});
    }
  for (auto& of_space : spans) {
    std::sort(of_space.begin(), of_space.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (std::size_t x = 0; x < of_space.size(); ++x)
      for (std::size_t y = x + 1; y < of_space.size() && of_space[y].begin < of_space[x].end; ++y) {
        const auto [first, second] = std::minmax(of_space[x].position, of_space[y].position);
        if (!(of_space[x].writes || of_space[y].writes) || list[first].lane == list[second].lane)
          continue;
        if (!ends_before(first, rounds - 1, second)) return false;
        if (repeats && !ends_before(second, rounds - 2, first)) return false;
      }
  }
  return true;
}

}  // namespace

bool is_ordered(const StepProgram& p, const Placement& at, const Order& order) {
  return list_is_ordered(p, at, p.once, order.once, false) &&
         list_is_ordered(p, at, p.steady, order.steady, true);
}

}  // namespace trainx::program
