// What a walk through a space has found.
#pragma once
#include "plan/choose/search.hpp"
#include <optional>

namespace trainx::plan {

class Finds {
 public:
  /// `ways`: so many kinds are wanted, which differ in the mode or in what is on the host.
  Finds(Search& search, const Space& space, int ways)
      : search_(search), space_(space), ways_(ways) {}

  /// Weighs a choice exactly, and keeps it if it fits: then its seconds.
  std::optional<double> take(const Decisions& choice);
  /// Of all that was weighed, if nothing fits.
  void note_smallest(const Decisions& choice, std::int64_t bytes);
  bool any() const { return !found_.fitting.empty(); }
  bool has_smallest() const { return found_.smallest.takes.bytes > 0; }
  /// Of all ways that fit and are nearly the fastest, the simplest; null: none fits.
  const Way* chosen() const;
  /// A way that takes as long is not wanted for its time.
  double seconds_to_beat() const;
  Found ended();

 private:
  Search& search_;
  const Space& space_;
  const int ways_;
  Found found_;
};

}  // namespace trainx::plan
