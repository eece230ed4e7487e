// The one search: the fastest choice of a space that fits.
#pragma once
#include "plan/choose/estimator.hpp"
#include "plan/choose/space.hpp"
#include <limits>
#include <optional>
#include <vector>

namespace trainx::plan {

// A smaller share of a step is below what predictions are good for: of choices that differ by less
// the simplest is taken, which leaves most on the device and takes least memory.
constexpr double worthwhile = 0.01;

struct Way {
  Decisions choice;
  Evaluation takes;
};

struct Found {
  /// Null: nothing fits.
  const Way* best() const { return fitting.empty() ? nullptr : &fitting[chosen]; }
  // of what was weighed, by an estimate: its bytes are all that is known of what it takes
  Way smallest;
  std::vector<Way> fitting;  // all that fit and were weighed exactly
  std::size_t chosen = 0;    // of those
};

struct Budget {
  // of the device; of the host: on a CPU what the process may take of it. 0: anything fits
  std::int64_t bytes = 0, host_bytes = 0;
};
/// memory.budget and what the host has.
Budget budget_of(const Draft& plan);

/// Walks a space by lower bounds: a cell (mode, experts, micro-batch, what is on the host) is
/// weighed only while what it takes at least, without recomputation and copies, may be faster than
/// what was found. Deep models are estimated from fewer layers, and what may be chosen is weighed
/// whole: no number of tries ends the search.
class Search {
 public:
  /// `evaluator` outlives this.
  Search(Evaluator& evaluator, Budget budget);

  /// The best. Without rates: the first mode, the least on the host and the least recomputation
  /// with which anything fits. `ways`: so many are weighed exactly, if there are as many that
  /// differ in the mode or in what is on the host.
  Found find(const Space& space, int ways = 1);
  /// What a step takes at least in a space, whether it fits or not: nearly. 0: times are not known.
  double least_seconds(const Space& space);
  /// From now on choices that take as long are passed over. Without rates all are looked for.
  void look_below(double seconds) {
    limit_s_ = seconds;
    passed_over_ = false;
  }
  double limit_s() const { return limit_s_; }
  void pass_over() { passed_over_ = true; }
  bool passed_over() const { return passed_over_; }
  bool fits(const Decisions& choice, const Evaluation& takes) const;
  /// Whether the host has room for what lies on it.
  bool fits_host(const Evaluation& takes) const;
  Evaluator& evaluator() { return evaluator_; }
  Estimator& estimator() { return estimator_; }
  const Budget& budget() const { return budget_; }
  /// Whether times hold with several ranks, and with something on the host.
  bool knows_links() const;
  bool knows_copies() const;

 private:
  Evaluator& evaluator_;
  Estimator estimator_;
  Budget budget_;
  double limit_s_ = std::numeric_limits<double>::infinity();
  bool passed_over_ = false;  // something that may fit
};

/// Of ways that take no longer than what is nearly `fastest_s` the simplest; null: there is none.
const Way* simplest_of(const std::vector<Way>& ways, double fastest_s, const Space& space);
/// Of all ways; infinite: there is none.
double least_seconds_of(const std::vector<Way>& ways);

/// Whether `choice` is simpler than another: less on the host, a mode that comes earlier, less
/// recomputation, a smaller micro-batch; in that order.
bool is_simpler(const Decisions& choice, const Decisions& than, const Space& space);

}  // namespace trainx::plan
