// A small real GPT-2 run on the GPU, by the parts of every run: three steps under the eyes of the
// attestation.
#pragma once
#include "train/build.hpp"
#include <cstdint>

namespace trainx::train::test {

struct Levers {
  bool update_in_backward = false, activation_offload = false;
  std::string attention = "auto", execution = "auto";
  bool optimizer_offload = false, rounded_gradients = false;  // rounded: as they leave for it
};
/// 2 layers of 2 heads of 64 elements, 2 micro-steps of 4 samples of 128 tokens (one of 8 and no
/// clipping with update_in_backward), deterministic.
plan::RunPlan attested_plan(const std::string& precision,
                            const std::string& activation_checkpoint = "none",
                            bool deterministic = true, const Levers& levers = {});
/// A plan gone wrong: `change` is made to it, programs are placed as it says then, and the recipe
/// is what it was.
plan::RunPlan replanned(plan::RunPlan plan, const std::function<void(plan::RunPlan&)>& change);

struct Outcome {
  // the sentence that the attestation ended the run with; what it went on with
  std::string refusal, warnings;
  std::vector<double> losses;  // of the steps that were finished before
  std::optional<execute::CapturedKernels> captured;
  std::string kernels() const;  // of the captured step, a line each
};
enum class Degraded : std::uint8_t { refused, allowed };
/// `sabotage`: done to the parts before they start.
Outcome run(const plan::RunPlan& plan, const std::function<void(TrainingParts&)>& sabotage = {},
            Degraded degraded = Degraded::refused);

}  // namespace trainx::train::test
