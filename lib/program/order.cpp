#include "program/order.hpp"
#include "program/segments.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

// by lane: its last instruction known to be finished, counted over all rounds; none: no one
using Clock = std::array<int, lane_count>;
constexpr Clock nothing_known{none, none, none, none, none, none};

std::array<int, lane_count> lane_sizes(const std::vector<Instruction>& list) {
  std::array<int, lane_count> n{};
  for (const Instruction& i : list) ++n[static_cast<int>(i.lane)];
  return n;
}

void join(Clock& a, const Clock& b) {
  for (std::size_t l = 0; l < lane_count; ++l) a[l] = std::max(a[l], b[l]);
}

/// Who touched a segment last.
struct Access {
  int writer_lane = none, writer = none;
  Clock readers = nothing_known;  // since that write
};

class Deriver {
 public:
  Deriver(const Segments& segments, const std::vector<Instruction>& list)
      : segments_(segments),
        list_(list),
        per_round_(lane_sizes(list)),
        last_(static_cast<std::size_t>(segments.count())) {
    known_.fill(nothing_known);
  }

  Waits derive(int rounds) {
    Waits waits(list_.size());
    for (int round = 0; round < rounds; ++round)
      for (std::size_t k = 0; k < list_.size(); ++k)
        // the last round's hold for all: they name earlier rounds too
        waits[k] = step(round, static_cast<int>(k));
    return waits;
  }

 private:
  std::vector<Wait> step(int round, int k) {
    const Instruction& i = list_[k];
    const auto lane = static_cast<std::size_t>(i.lane);
    const int index = static_cast<int>(done_[lane].size());
    Clock need = nothing_known;
    for (const Use& u : i.uses) collect(u, need);
    for (std::size_t l = 0; l < lane_count; ++l)
      if (l == lane || need[l] <= known_[lane][l]) need[l] = none;
    // Dropped where another thing waited for has itself waited for it.
    for (std::size_t l = 0; l < lane_count; ++l)
      for (std::size_t o = 0; o < lane_count && need[l] != none; ++o)
        if (o != l && need[o] != none && finished(o, need[o])[l] >= need[l]) need[l] = none;
    std::vector<Wait> waits;
    for (std::size_t l = 0; l < lane_count; ++l) {
      if (need[l] == none) continue;
      waits.push_back(
          {static_cast<Lane>(l), need[l] % per_round_[l], round - need[l] / per_round_[l]});
      join(known_[lane], finished(l, need[l]));
    }
    known_[lane][lane] = index;
    done_[lane].push_back(known_[lane]);
    for (const Use& u : i.uses)
      if (!writes(u.how)) each(u, [&](Access& a) { a.readers[lane] = index; });
    for (const Use& u : i.uses)
      if (writes(u.how))
        each(u, [&](Access& a) { a = {static_cast<int>(lane), index, nothing_known}; });
    return waits;
  }

  void collect(const Use& u, Clock& need) {
    each(u, [&](Access& a) {
      if (a.writer_lane != none) need[a.writer_lane] = std::max(need[a.writer_lane], a.writer);
      if (writes(u.how)) join(need, a.readers);
    });
  }

  template <class Visit>
  void each(const Use& u, Visit visit) {
    const auto run = segments_.of(u.buffer);
    for (int s = run.begin; s < run.end; ++s) visit(last_[s]);
  }

  const Clock& finished(std::size_t lane, int index) const { return done_[lane][index]; }

  const Segments& segments_;
  const std::vector<Instruction>& list_;
  std::array<int, lane_count> per_round_;
  std::vector<Access> last_;
  // by lane: what it knows when it starts its next instruction
  std::array<Clock, lane_count> known_;
  // by lane and instruction: what is known once that has finished
  std::array<std::vector<Clock>, lane_count> done_;
};

}  // namespace

Order derive_order(const StepProgram& p, const Placement& at) {
  const Segments segments(p, at);
  return {Deriver(segments, p.once).derive(1), Deriver(segments, p.steady).derive(2)};
}

}  // namespace trainx::program
