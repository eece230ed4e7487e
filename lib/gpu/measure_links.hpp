#pragma once
#include "core/link_rates.hpp"

namespace trainx::gpu {

/// Copies between the host and each GPU that this process sees, between each two of them, and sums
/// over all; takes half a GiB of each and of the host, and about a second for two. Each rate is the
/// median of several. Throws GpuError 69, or 71 where that memory is not there.
LinkRates measure_links();

}  // namespace trainx::gpu
