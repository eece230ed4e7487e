// What a plan says of the links between ranks.
#pragma once
#include "plan/run_plan.hpp"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainx::plan {

/// What the predicted time takes for links and where that comes from; "" if no links are used or
/// they were measured.
std::string describe_links(const RunPlan& plan);
/// kind, bytes_per_s of the data sheet, of sums and of copies, source; null without links.
nlohmann::json links_json(const RunPlan& plan);

}  // namespace trainx::plan
