// The ways to cut a run and to put parts of it aside, with what each takes: memory and time.
#pragma once
#include "plan/memory_plan.hpp"
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

namespace trainx::plan {

/// Recomputation in one number: 0 nothing, `layers` all of them at the next level, ..., `whole()`
/// all of them full, then ever longer segments.
struct Depth {
  int layers = 1;
  // ascending, with what can have an effect on the model
  std::vector<RecomputeLevel> levels = {RecomputeLevel::none, RecomputeLevel::selective,
                                        RecomputeLevel::mlp, RecomputeLevel::full};
  int whole() const;
  int most() const;
  void write(int depth, recipe::MemorySection& memory) const;
};

/// What waits in the host's memory though the recipe does not say so.
struct OnHost {
  bool activations = false, optimizer = false, weights = false;
  bool any() const { return activations || optimizer || weights; }
  auto operator<=>(const OnHost&) const = default;
};

struct Candidate {
  std::int64_t micro_batch_size = 1;
  int depth = 0;  // ignored where the recipe says what is recomputed
  OnHost on_host;
  std::int64_t bytes = 0, host_bytes = 0, offloaded_bytes = 0;
  double seconds = 0;  // of a step; 0 without rates
};

class FitSearch {
 public:
  /// All of them outlive this. `budget_bytes` 0: anything fits.
  FitSearch(const Decisions& plan, std::int64_t budget_bytes, const program::Rates* rates);

  const Depth& depth() const { return depth_; }
  bool fits(const Candidate& c) const;
  /// With the bytes and the time of a step.
  Candidate weigh(const Candidate& c) const;
  /// The least recomputation with which so many samples fit; the most there is where none does.
  /// `at_least`: what fewer samples need already.
  Candidate least_depth(std::int64_t micro_batch_size, OnHost on_host = {}, int at_least = 0) const;
  /// With activations on the host: the fastest level that fits, where it is not known how fast
  /// copies are the one that leaves the least to copy.
  Candidate offloaded(std::int64_t micro_batch_size, OnHost on_host) const;
  /// Of a step with such micro-steps if memory were no matter: with these things on the host no
  /// step takes less.
  double least_seconds(std::int64_t micro_batch_size, OnHost on_host) const;
  /// The numbers of samples that divide a step's, ascending.
  std::vector<std::int64_t> micro_batch_sizes() const;
  std::int64_t samples() const { return samples_; }
  /// Whether times hold where something lies on the host.
  bool knows_copies() const { return rates_ && rates_->host_bytes_per_s > 0; }

 private:
  Candidate weighed(Candidate c, bool timed) const;
  double seconds_of(const Candidate& c, const Programs& two, bool uses_host) const;
  /// The run with a candidate's choices and so many micro-steps.
  Decisions sized(const Candidate& c, int micro_steps) const;

  const Decisions& plan_;
  std::int64_t budget_, samples_ = 1;
  std::int64_t most_described_ = std::numeric_limits<std::int64_t>::max();  // samples at once
  const program::Rates* rates_;
  Depth depth_;
  // the last: the recipe leaves open what is recomputed
  using Key = std::tuple<std::int64_t, int, OnHost, bool>;
  struct Weighed {
    Candidate candidate;
    bool timed = false;
  };
  mutable std::map<Key, Weighed> weighed_;  // many are asked for again
};

}  // namespace trainx::plan
