#pragma once
#include "data/source.hpp"
#include "options/model/task.hpp"

namespace trainx::data {

/// seq2seq: fills what the decoder reads (options::TargetShift) from the sample's targets.
/// Tokens without a target, and those behind its end, are padding.
void shift_targets(const options::TargetShift& shift, SampleView sample);

}  // namespace trainx::data
