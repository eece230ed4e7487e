#pragma once
#include "report/run_record.hpp"

namespace trainx::report {

/// One HTML page with everything in it: opened from a file, without a network, light or dark as the
/// reader's system is.
std::string page(const RunRecord& run);

}  // namespace trainx::report
