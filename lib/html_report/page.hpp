#pragma once
#include "html_report/run_record.hpp"

namespace trainx::html_report {

/// One HTML page with everything in it: opened from a file, without a network, light or dark as the
/// reader's system is.
std::string page(const RunRecord& run);

}  // namespace trainx::html_report
