// The rates that a plan's arithmetic takes of devices, links and network.
#pragma once
#include "hardware/hardware.hpp"
#include "plan/draft.hpp"
#include "plan/prediction.hpp"

namespace trainx::plan {

/// Of the device; nullopt if they were not measured.
std::optional<program::Rates> rates_of(const hardware::Hardware& device, recipe::Compute compute);

/// What was measured on this machine, in place of the device's. Links only for runs on one host:
/// all hosts must decide the same.
void use_measured_rates(program::Rates& rates, const facts::HardwareFacts& hardware,
                        std::int64_t world_size);

/// Fills in step_rates, the assumed link and the network: what was measured, else a guess.
/// `prediction.ranks_per_host` is known. `device`: null on a CPU. `measured`: of this machine,
/// empty if the plan is for another. `links`: of the GPUs; nothing: as the data sheet has them.
void predict_rates(Prediction& prediction, const Draft& plan, const hardware::Hardware* device,
                   const facts::NetworkFacts& measured,
                   const std::optional<hardware::Links>& links = {});

}  // namespace trainx::plan
