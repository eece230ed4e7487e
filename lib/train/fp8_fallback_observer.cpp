#include "train/fp8_fallback_observer.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>
#include <cmath>

namespace trainx::train {

Fp8FallbackObserver::Fp8FallbackObserver(const TrainingParts& parts, metrics::Console& console,
                                         metrics::MetricsLog* file, bool allow_degraded)
    : parts_(parts),
      console_(console),
      file_(file),
      products_(parts.role.train.front().graph),
      allow_degraded_(allow_degraded) {}

// Current scales cut nothing.
bool Fp8FallbackObserver::decides() const {
  const recipe::PrecisionSection& precision = parts_.plan.recipe.precision;
  return precision.scaling == recipe::Scaling::delayed && precision.fallback < 1;
}

bool Fp8FallbackObserver::ends_window(std::int64_t step) const {
  return decides() && step % parts_.plan.recipe.precision.fallback_window == 0;
}

void Fp8FallbackObserver::on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) {
  attest(state, step);
  // a step that is skipped says nothing of the next ones
  if (decides() && std::isfinite(step.loss) && std::isfinite(step.grad_norm))
    products_.add(state, step.fp8_counts);
  if (at_rest && ends_window(state.step)) decide(state);
}

void Fp8FallbackObserver::attest(const TrainState& state, const FinishedStep& step) {
  const std::string cast = products_.cast_in_spite(state.fp8_fallback, step.fp8_counts);
  if (cast.empty()) return;
  const std::string sentence = "what runs is not what was planned (step " +
                               std::to_string(state.step) + "): " + cast +
                               " is cast to fp8, though its products have fallen back "
                               "(precision.fallback)";
  if (!allow_degraded_)
    throw UserError(ExitCode::not_as_asked, sentence + "; --allow-degraded goes on all the same");
  if (!warned_) console_.warning(sentence);
  warned_ = true;
}

// Replicas of dp count nothing, so that all take what rank 0 says.
void Fp8FallbackObserver::decide(TrainState& state) {
  const recipe::PrecisionSection& precision = parts_.plan.recipe.precision;
  const std::vector<SaturatedProduct> found =
      products_.above(precision.fallback, precision.fallback_window, state);
  state.fp8_saturation.clear();
  nlohmann::json said = nlohmann::json::array();
  for (const SaturatedProduct& p : found) said.push_back(p.weight);
  said = nlohmann::json::parse(parts_.ranks.from_first(said.dump()));
  const auto weights = said.get<std::vector<std::string>>();
  if (weights.empty()) return;
  state.fp8_fallback.insert(state.fp8_fallback.end(), weights.begin(), weights.end());
  wants_programs_ = true;
  if (!parts_.ranks.is_first()) return;
  const metrics::Fp8Fallback report{.step = state.step,
                                    .weights = weights,
                                    .products = std::ssize(state.fp8_fallback),
                                    .unix_time_s = metrics::unix_time_s()};
  if (file_) file_->append(metrics::to_json(report));
  console_.fallback(
      report, fallback_sentence(found, state.step, precision.fallback, precision.fallback_window,
                                std::string(name_of(parts_.plan.compute))));
}

}  // namespace trainx::train
