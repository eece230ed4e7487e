// The cells of a space: choices that are made first. Recomputation, shares and weights that stay
// follow from them.
#pragma once
#include "plan/choose/search.hpp"
#include <cstddef>
#include <optional>
#include <vector>

namespace trainx::plan {

/// A mode, ranks that share experts and a micro-batch by their places in the space's lists, and
/// what is on the host.
struct Cell {
  std::size_t mode = 0, experts = 0, micro = 0;
  OnHost on_host;
};

/// Choices of cells, and what they nearly take.
class Cells {
 public:
  /// Both outlive this.
  Cells(Search& search, const Space& space) : search_(search), space_(space) {}

  bool is_possible(const Cell& cell) const;
  /// With so much recomputation (Depth), and the first of what else there is.
  Decisions choice_of(const Cell& cell, int depth) const;
  /// Those with one more thing on the host, so that each set of things is reached once.
  std::vector<Cell> with_more_on_host(const Cell& cell) const;
  /// The depth at which all layers are recomputed at the last level.
  int whole() const { return space_.depth ? space_.depth->whole() : 0; }

  /// With what follows by memory alone: what of the optimizer is on the disk, and when weights are
  /// cast. weigh(choice): what it takes.
  template <class Weigh>
  Decisions completed(const Decisions& choice, const Weigh& weigh) {
    return cast_as_fits(disk_as_fits(choice, weigh), weigh);
  }
  /// The choice, completed, estimated from fewer layers where that can be.
  Way estimated(const Decisions& choice, bool timed);
  /// Whether a choice may fit that is estimated to take this.
  bool nearly_fits(const Decisions& choice, const Evaluation& takes) const;
  /// What segments of layers can save at most: they keep one hidden state instead of one each.
  std::int64_t most_saved_by_segments(const Cell& cell) const;

 private:
  /// With weights in fp8 cast once if that fits, else in each use if that fits or takes less.
  template <class Weigh>
  Decisions cast_as_fits(Decisions choice, const Weigh& weigh) const {
    if (!space_.casts) return choice;
    choice.casts_weights_once = true;
    const Evaluation once = weigh(choice);
    if (search_.fits(choice, once)) return choice;
    Decisions each = choice;
    each.casts_weights_once = false;
    const Evaluation again = weigh(each);
    return search_.fits(each, again) || again.bytes < once.bytes ? each : choice;
  }
  /// cpu+disk: with the fewest groups on the disk with which the host has room for the rest, or
  /// with all that may be there.
  template <class Weigh>
  Decisions disk_as_fits(Decisions choice, const Weigh& weigh) {
    if (choice.optimizer != recipe::OptimizerOffload::cpu_disk) return choice;
    const auto fits = [&](int groups) {
      choice.groups_on_disk = groups;
      return search_.fits_host(weigh(choice));
    };
    // a few groups on the disk may take more memory, to pass through, than they free
    int low = 0, high = trained_groups() - choice.groups_on_device;
    if (fits(0)) high = 0;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (fits(middle) ? high : low) = middle;
    }
    choice.groups_on_disk = high;
    return choice;
  }
  int trained_groups();

  Search& search_;
  const Space& space_;
  std::optional<int> trained_groups_;  // of the model, once they are counted
};

}  // namespace trainx::plan
