// Decides what a recipe leaves open: nothing else does.
#pragma once
#include "plan/choose/search.hpp"
#include <limits>

namespace trainx::plan {

/// Chooses parallel.mode and its shards, micro-batch, recomputation, what lies on the host, the
/// share of the optimizer on the device, how long gathered weights stay and when weights are cast,
/// where they are auto, and with memory.fit, if the run does not fit as written, where they have
/// their defaults. The fastest by `rates` that fits plan.budget_bytes (0: everything fits) and the
/// host wins; without rates the one with the least on the host and the least recomputation. The
/// global batch and written values stay.
class Choosing {
 public:
  /// `local_ranks`: ranks of this node. `rates` null: the device's are not known. Throws UserError
  /// 78 if the model is too deep for a search.
  Choosing(Draft plan, const program::Rates* rates, std::int64_t local_ranks);
  Choosing(const Choosing&) = delete;
  Choosing& operator=(const Choosing&) = delete;

  /// With rates only ways that take less than `limit_s` are looked for.
  void search(double limit_s = std::numeric_limits<double>::infinity());
  /// Search::least_seconds.
  double least_seconds();
  /// What the search has found; if nothing fits, the smallest, of which bytes alone may be known.
  Way way();
  bool fits();
  /// Of all ways that fit; 0: times are not known. Infinite: nothing fits.
  double fastest_s();
  /// Takes the simplest way that is nearly as fast as another run's fastest, which is no slower.
  void settle(double fastest_s);
  /// Whether something that may fit was passed over because it takes as long as the limit.
  bool passed_over() const { return search_.passed_over(); }
  /// Writes what was found into the plan that was given, into its recipe and its choices.
  void take(Draft& plan);

 private:
  const Draft before_;
  const std::int64_t local_ranks_;
  const Space open_;
  Space used_;
  Evaluator evaluator_;
  Search search_;
  const bool is_decided_;  // there is one choice alone
  bool as_written_ = false;
  Found found_;
};

/// A search for `plan`, which takes what it finds.
void decide(Draft& plan, const program::Rates* rates, std::int64_t local_ranks);

}  // namespace trainx::plan
