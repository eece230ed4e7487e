// What sentences about choices refer to: the choice, what it takes, and what it was chosen among.
#pragma once
#include "plan/choose/words.hpp"
#include <string>

namespace trainx::plan {

struct Telling {
  Telling(Draft& plan, Search& search, const Searched& searched);

  void add(std::string text) { plan.choices.push_back(std::move(text)); }
  /// "3.0 % longer": what another way takes, beside the chosen one.
  std::string longer(const Evaluation& than) const;
  /// "; costs 3.0 % of a step more" than a cheaper way that does not fit; "" without times.
  std::string cost_over(const Evaluation& cheaper) const;
  /// Whether something lies on the host though the recipe does not say so.
  bool has_more_on_host() const;

  Draft& plan;
  Search& search;
  const Searched& searched;
  Evaluator& evaluator;
  const Decisions& written;
  const Decisions now;
  const Evaluation takes;
  const bool is_timed;
  const std::string of_budget;  // " of 80 GiB", or ""
};

/// parallel.mode, parallel.shard_ranks and parallel.experts.
void tell_ranks(Telling& t);
/// Why something lies on the host, and what it costs.
void tell_host(Telling& t);
void tell_recomputation(Telling& t);
void tell_micro_batch(Telling& t);
/// Which groups of an offloaded optimizer stay on the device.
void tell_share(Telling& t);
/// What of the optimizer is on the disk (cpu+disk).
void tell_disk(Telling& t);
/// Weights in fp8 that are cast in each use.
void tell_casts(Telling& t);

}  // namespace trainx::plan
