// Loading so that a host holds frozen weights once, however many ranks it has.
#pragma once
#include "execute/device.hpp"
#include "execute/ranks.hpp"
#include "state/resident_state.hpp"
#include <functional>

namespace trainx::state {

/// Calls `load`, which draws and loads all of `resident`, the resident buffers of `device`. All
/// ranks call it. If the device has pages that ranks share, the first rank of each host loads and
/// seals them. Then the others map them and load the rest. A rank that cannot map them, as in
/// another PID namespace, loads a copy of its own, which its log tells. Throws what `load` throws,
/// and the run's failure if another rank ends meanwhile.
void load_shared(execute::Device& device, ResidentState& resident, const execute::Ranks& ranks,
                 const std::function<void()>& load);

}  // namespace trainx::state
