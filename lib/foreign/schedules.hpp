// Schedules by the names of transformers (lr_scheduler_type, lr_scheduler_kwargs) and DeepSpeed (scheduler.type, scheduler.params).
#pragma once
#include "core/units.hpp"
#include "foreign/settings.hpp"

namespace trainx::foreign {

/// `warmup` of `run`, said under `warmup_key`; `lr` where it is known. Without a key of its own the schedule is linear, as transformers' is.
void map_transformers_schedule(Settings& settings, const Duration& warmup, std::string_view warmup_key, std::optional<double> lr);
/// Also the learning rate and the run's length, which these hold.
void map_deepspeed_schedule(Settings& scheduler);

}  // namespace trainx::foreign
