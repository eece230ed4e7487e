// What `trainx doctor --hosts` prints.
#pragma once
#include "core/network_rates.hpp"
#include <string>

namespace trainx::doctor {

/// Tables: the hosts, every two of them (of many the slowest), the sums.
std::string describe(const NetworkRates& rates);

}  // namespace trainx::doctor
