#include "plan/choose/estimator.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {

Estimator::Estimator(Evaluator& exact) : exact_(exact), fewer_(fewer_layers(exact.problem())) {
  if (!fewer_) return;
  const program::Rates* const rates = exact.rates() ? &*exact.rates() : nullptr;
  Draft problem = exact.problem();
  problem.dims = fewer_->few;
  few_.emplace(problem, rates);
  problem.dims = fewer_->more;
  more_.emplace(std::move(problem), rates);
}

Evaluation Estimator::estimate(const Decisions& choice, bool timed) {
  if (!fewer_ || choice.levels.size() > 1 || choice.segment > 1)
    return timed ? exact_.of(choice) : exact_.memory_of(choice);
  const Evaluation &few = timed ? few_->of(choice) : few_->memory_of(choice),
                   &more = timed ? more_->of(choice) : more_->memory_of(choice);
  const auto bytes = [&](std::int64_t Evaluation::*what) {
    const double all =
        fewer_->extrapolated(static_cast<double>(few.*what), static_cast<double>(more.*what));
    return std::max<std::int64_t>(more.*what, std::llround(all));
  };
  Evaluation e;
  e.bytes = bytes(&Evaluation::bytes);
  e.host_bytes = bytes(&Evaluation::host_bytes);
  e.offloaded_bytes = bytes(&Evaluation::offloaded_bytes);
  e.gathers = bytes(&Evaluation::gathers);
  e.gathered_groups = bytes(&Evaluation::gathered_groups);
  e.seconds = std::max(more.seconds, fewer_->extrapolated(few.seconds, more.seconds));
  return e;
}

}  // namespace trainx::plan
