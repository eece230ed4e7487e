#include "train/attest_observer.hpp"
#include "core/error.hpp"
#include "train/attestation.hpp"

namespace trainx::train {

void AttestObserver::on_step_end(TrainState& state, const FinishedStep&, bool) {
  constexpr std::int64_t beside = 1;              // a step more than kinds: then one has come again, and was captured
  if (done_ || !parts_.plan.on_gpu) return;
  ++seen_;
  const auto evidence = parts_.executor->evidence();
  if (!evidence && seen_ <= parts_.executor->kinds_of_steps() + beside) return;
  done_ = true;
  const std::size_t shape = evidence ? evidence->shape : 0;
  const auto found = differences(plan::claims_of(parts_.plan, parts_.plan.train[shape].graph, evidence ? evidence->target_rows : 0), evidence.value_or(StepEvidence{}));
  if (found.empty()) return;
  std::string sentence = "what runs on the GPU is not what was planned (step " + std::to_string(state.step) + "): ";
  for (std::size_t i = 0; i < found.size(); ++i) sentence += (i ? "; " : "") + found[i];
  if (!allow_degraded_) throw UserError(ExitCode::not_as_asked, sentence + "; --allow-degraded goes on all the same");
  console_.warning(sentence);
}

}  // namespace trainx::train
