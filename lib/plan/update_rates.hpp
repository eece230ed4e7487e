// How fast the optimizer's kernels are on a GPU.
#pragma once
#include "hardware/hardware.hpp"
#include "program/plain.hpp"
#include "options/optim/options.hpp"

namespace trainx::plan {

program::UpdateRates update_rates(const hardware::Hardware& device,
                                  const options::OptimizerOptions& options, DType compute,
                                  program::Master master);

}  // namespace trainx::plan
