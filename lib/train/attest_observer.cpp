#include "train/attest_observer.hpp"
#include "core/error.hpp"
#include "execute/attestation.hpp"

namespace trainx::train {

namespace {

/// Without what modules of the user's own launch, which no plan says.
execute::CapturedKernels of_trainx(execute::CapturedKernels captured) {
  std::erase_if(captured.kernels, [](const auto& kernel) {
    return kernel.first.find("6trainx") == std::string::npos &&
           kernel.first.find("nccl") == std::string::npos;
  });
  return captured;
}

}  // namespace

void AttestObserver::on_step_end(TrainState& state, const FinishedStep&, bool) {
  if (!parts_.plan.on_gpu) return;
  // a step more than kinds: then one has come again, and was captured
  constexpr std::int64_t beside = 1;
  ++seen_;
  const auto& captured = parts_.executor->captured_kernels();
  if (captured.empty() && seen_ == parts_.executor->kinds_of_steps() + beside) attest(state, {});
  for (; attested_ < captured.size(); ++attested_) attest(state, captured[attested_]);
}

void AttestObserver::attest(const TrainState& state, const execute::CapturedKernels& captured) {
  const auto found = execute::differences(
      plan::expected_kernels(parts_.plan, parts_.role.train[captured.shape].graph,
                             captured.target_rows, parts_.ranks.rank(), parts_.role),
      std::holds_alternative<architectures::CustomDims>(parts_.plan.dims) ? of_trainx(captured)
                                                                          : captured);
  if (found.empty()) return;
  std::string sentence = "what runs on the GPU is not what was planned (step " +
                         std::to_string(state.step) + "): ";
  for (std::size_t i = 0; i < found.size(); ++i) sentence += (i ? "; " : "") + found[i];
  if (!allow_degraded_)
    throw UserError(ExitCode::not_as_asked, sentence + "; --allow-degraded goes on all the same");
  if (!warned_) console_.warning(sentence);
  warned_ = true;
}

}  // namespace trainx::train
