// One walk of a search through a space in which times are known.
#pragma once
#include "plan/choose/settler.hpp"
#include <map>
#include <queue>
#include <tuple>

namespace trainx::plan {

class SpaceWalk {
 public:
  SpaceWalk(Search& search, const Space& space, int ways)
      : search_(search),
        space_(space),
        finds_(search, space, ways),
        cells_(search, space),
        settler_(search, space, cells_, finds_) {}
  Found find();

 private:
  /// What is to be done with a cell, by the least seconds that its choices may take.
  struct Task {
    double seconds = 0;
    enum class Kind : std::uint8_t { bound, levels, weigh, mixes } kind = Kind::bound;
    Cell cell;
    int depth = 0;
    double level_s = 0;                    // of mixes: what all layers at this depth take
    std::size_t order = 0;                 // of equal ones the first
    bool operator<(const Task& o) const {  // the largest goes last: a queue takes the largest
      return std::tie(seconds, order) > std::tie(o.seconds, o.order);
    }
  };

  /// Micro-batches from the first on do not fit, however much is recomputed.
  struct TooLarge {
    std::size_t first = 0;
    bool weighs_segments = false;  // else only levels of all layers ruled them out
  };

  bool fits_at_all(const Cell& cell);
  std::size_t first_too_large(Cell cell);
  bool may_fit(const Cell& cell);
  void push(Task task);
  void push_more_on_host(const Cell& cell, double least_s);
  void bound(const Task& task);
  void weigh_levels(const Task& task);
  void weigh_copied(const Cell& cell, int depth);
  void weigh_mixes(const Task& task);
  void weigh(const Task& task);
  void weigh_whole_levels(const Cell& cell, int depth, double seconds);
  /// Whether a choice that takes at least so long may be taken.
  bool matters(const Task& task) const;

  Search& search_;
  const Space& space_;
  Finds finds_;
  Cells cells_;
  Settler settler_;
  std::priority_queue<Task> tasks_;
  std::size_t pushed_ = 0;
  // by mode, experts and what is on the host
  std::map<std::tuple<std::size_t, std::size_t, OnHost>, TooLarge> too_large_;
};

}  // namespace trainx::plan
