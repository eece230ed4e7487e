#pragma once
#include "data/source.hpp"
#include "architectures/task.hpp"

namespace trainx::data {

/// seq2seq: fills what the decoder reads (architectures::TargetShift) from the sample's targets.
/// Tokens without a target, and those behind its end, are padding.
void shift_targets(const architectures::TargetShift& shift, SampleView sample);

}  // namespace trainx::data
