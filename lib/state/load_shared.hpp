// Loading so that a host holds frozen weights once, however many ranks it has.
#pragma once
#include "execute/device.hpp"
#include "execute/ranks.hpp"
#include "state/resident_state.hpp"
#include <functional>

namespace trainx::state {

/// Draws and loads all of `resident`, the resident buffers of `device`, by `load`, which may be
/// called a second time (`second`). All ranks call it.
///
/// If the device has pages that ranks share, the first rank of each host loads and seals them. Then
/// the others map them and load the rest. Where loading gathers shards, all ranks call `load` both
/// times. A rank that cannot map the pages, as in another PID namespace, loads a copy of its own,
/// which its log tells. Throws what `load` throws, and the run's failure if another rank ends
/// meanwhile.
void load_shared(execute::Device& device, ResidentState& resident, const execute::Ranks& ranks,
                 const std::function<void(bool second)>& load);

}  // namespace trainx::state
