#include "train/health_observer.hpp"
#include "train/fp8_shares.hpp"

namespace trainx::train {
namespace {

constexpr std::size_t told_samples = 8;

/// "samples 3, 17 and 30 more of the training data": places in the data set, from 0.
std::string words_of(const std::vector<std::int64_t>& samples) {
  std::string text = samples.size() == 1 ? "sample " : "samples ";
  for (std::size_t i = 0; i < samples.size() && i < told_samples; ++i)
    text += (i > 0 ? ", " : "") + std::to_string(samples[i]);
  if (samples.size() > told_samples)
    text += " and " + std::to_string(samples.size() - told_samples) + " more";
  return text + " of the training data";
}

}  // namespace

void HealthObserver::on_step_end(TrainState& state, const FinishedStep& step, bool) {
  ++steps_;
  learned_ = learned_ || step.targets > 0 || step.loss != 0;
  const auto& plan = parts_.plan;
  const metrics::LossWatch::Step seen{
      .step = state.step,
      .loss = step.loss,
      .grad_norm = step.grad_norm,
      .loss_scale = step.loss_scale,
      .scale_adapts = plan.compute == DType::f16 && plan.loss_scale.window > 0};
  const auto samples = [&] { return words_of(parts_.loader->samples_of(state.step - 1)); };
  for (const std::string& sentence : loss_.news(seen, state.running_loss, samples))
    console_.warning(sentence);
  if (const auto sentence = data_wait_.news(state.step, step.step_time_s, step.data_wait_s))
    console_.warning(*sentence);
  if (const auto shares =
          fp8_shares(step.fp8_counts, plan.recipe.precision.scaling == recipe::Scaling::delayed))
    for (const std::string& sentence : fp8_.news(state.step, *shares)) console_.warning(sentence);
}

void HealthObserver::on_end(TrainState&, execute::Request) {
  if (const std::int64_t n = loss_.non_finite_steps(); n > 1)
    console_.warning(
        std::to_string(n) +
        " steps had a loss or gradient that is not finite; their updates were skipped");
}

}  // namespace trainx::train
