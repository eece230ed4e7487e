// Where a run computes: on the CPU, on a GPU of this machine, or on one that it is planned for.
#pragma once
#include "hardware/hardware.hpp"
#include "plan/draft.hpp"

namespace trainx::plan {

/// Whether the run would compute on a GPU of this machine. Throws UserError 78 if the recipe asks
/// for a combination that does not exist.
bool computes_on_gpu(const recipe::Recipe& recipe, const facts::Facts& facts);

/// Sets plan.on_gpu and plan.compute_capability; needs plan.dims. `gpu`: plan for this device, as
/// --gpu takes it; empty: for this machine. Returns that GPU, also if the model computes on the
/// CPU, or the GPU of this machine that computes; else nullopt. Throws UserError 69 for a GPU
/// without kernels in this build, 78 for a model or a type that the GPU has no kernels for.
std::optional<hardware::Hardware> choose_device(Draft& plan, const facts::HardwareFacts& hardware,
                                                const std::string& gpu);

}  // namespace trainx::plan
