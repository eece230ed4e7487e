// What a run has computed against a reference in fp64.
#pragma once
#include "torch/model/plain_run.hpp"

namespace trainx::model::test {

using Gradients = std::map<std::string, at::Tensor>;  // by Hugging Face name

/// Of each tensor: the norm of the difference over that of `want`. Where exact arithmetic gives
/// zero, as for a key's bias, which moves all scores of a row alike, over the norm of all
/// gradients. NaN where a NaN is.
std::map<std::string, double> relative_errors(const Gradients& got, const Gradients& want);

/// Fails where the loss or a gradient of the run is off by more than `tolerance`, or another number
/// of targets was counted.
void check_exact(PlainRun& run, const Gradients& want, double loss_sum, double target_count,
                 double tolerance);
/// Fails where a gradient of the run is further from `want` than 1.5 times what torch computes in
/// the same type.
void check_as_torch(PlainRun& run, const Gradients& want, const Gradients& torch);

}  // namespace trainx::model::test
