// Is what ran what was asked for?
#pragma once
#include "plan/claims.hpp"
#include "train/step_evidence.hpp"

namespace trainx::train {

/// What of the claims the evidence does not bear out, a sentence each: "6 launches of fused
/// attention in a step, 12 were planned". Kernels are told apart by their names.
std::vector<std::string> differences(const plan::StepClaims& claims, const StepEvidence& evidence);

}  // namespace trainx::train
