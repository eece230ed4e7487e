// How fast optimizers' updates stream through this host's memory, kept for the plans to come.
#pragma once
#include <cstdint>

namespace trainx::facts {

// Rates are bytes per second by so many threads together, as MemoryBandwidthFacts counts them in
// place.

/// Kept in the cache until this host starts anew. Nowhere to keep it is no problem.
void remember_host_update_rate(double bytes_per_second, std::int64_t threads);
/// 0 where none was kept for so many threads.
double remembered_host_update_rate(std::int64_t threads);
/// The one that is kept, else measured now, by one process of this host at a time; 0 where that
/// cannot be.
double known_host_update_rate(std::int64_t threads);

}  // namespace trainx::facts
