// Schedules by the names of transformers (lr_scheduler_type, lr_scheduler_kwargs) and DeepSpeed
// (scheduler.type, scheduler.params).
#pragma once
#include "core/units.hpp"
#include "imports/settings.hpp"

namespace trainx::imports {

/// The schedule at `type_key`, else `otherwise`, with lr_scheduler_kwargs. `warmup` was said under
/// `warmup_key`; `lr` if it is known.
void map_transformers_schedule(Settings& settings, const Duration& warmup,
                               std::string_view warmup_key, std::optional<double> lr,
                               std::string_view type_key = "lr_scheduler_type",
                               const std::string& otherwise = "linear");
/// Also the learning rate and the run's length, which these hold.
void map_deepspeed_schedule(Settings& scheduler);

}  // namespace trainx::imports
