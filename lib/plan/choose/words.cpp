#include "plan/choose/words.hpp"
#include "core/units.hpp"
#include "plan/choose/telling.hpp"
#include "plan/explain/percent.hpp"
#include <algorithm>

namespace trainx::plan {

Telling::Telling(Draft& draft, Search& search_of, const Searched& what)
    : plan(draft),
      search(search_of),
      searched(what),
      evaluator(search_of.evaluator()),
      written(what.space.written),
      now(decisions_of(draft)),
      takes(evaluator.of(now)),
      is_timed(takes.seconds > 0),
      of_budget(draft.budget_bytes > 0 ? " of " + human_bytes(draft.budget_bytes) : "") {}

std::string Telling::longer(const Evaluation& than) const {
  return percent(than.seconds / takes.seconds - 1) + " longer";
}

std::string Telling::cost_over(const Evaluation& cheaper) const {
  if (!search.knows_links() || cheaper.seconds <= 0) return "";
  return "; costs " + percent(std::max(0.0, takes.seconds / cheaper.seconds - 1)) +
         " of a step more";
}

bool Telling::has_more_on_host() const {
  return now.activations != written.activations || now.optimizer != written.optimizer ||
         now.weights != written.weights;
}

void tell(Draft& plan, Search& search, const Searched& searched) {
  Telling t(plan, search, searched);
  tell_ranks(t);
  if (searched.as_written) t.add("memory.fit changes nothing: the run fits as it is written");
  tell_micro_batch(t);
  tell_host(t);
  tell_recomputation(t);
  tell_kept_weights(plan, search);
  tell_share(t);
  tell_casts(t);
  tell_disk(t);
}

}  // namespace trainx::plan
