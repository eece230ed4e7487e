// Optimizers, schedules and data sources of a worker's own, as it describes them.
#pragma once
#include "options/data/own.hpp"
#include "options/optim/own.hpp"
#include "options/schedule/own.hpp"
#include <nlohmann/json_fwd.hpp>

namespace trainx::options {

nlohmann::json to_json(const OwnOptimizerOptions& o);
nlohmann::json to_json(const OwnSchedule& o);
nlohmann::json to_json(const OwnDataOptions& o);
/// Throw nlohmann::json::exception, or UserError 69, for what is no such description.
OwnOptimizerOptions own_optimizer_from_json(const nlohmann::json& j);
/// Without `build`.
OwnSchedule own_schedule_from_json(const nlohmann::json& j);
/// Without `open`.
OwnDataOptions own_data_from_json(const nlohmann::json& j);

}  // namespace trainx::options
