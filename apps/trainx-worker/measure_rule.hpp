#pragma once
#include "facts/own_rule.hpp"
#include "model/custom/measured_device.hpp"
#include "optim/own_rule.hpp"

namespace trainx::worker {

/// Of a rule that computes with tensors. Throws UserError 78 where it fails, 71 where memory does
/// not suffice.
facts::OwnRuleFacts measure_rule(const optim::OwnRule& rule, model::custom::MeasuredDevice& device);

}  // namespace trainx::worker
