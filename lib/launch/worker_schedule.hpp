// Schedules of a worker of the user's own, whose function only the worker has.
#pragma once
#include "trainx/schedule_definition.hpp"

namespace trainx::launch {

/// Builds functions that ask the worker (`--describe-schedule`) for a run's whole course, once for
/// equal questions. They throw UserError 78 for what the worker says of its function, 69 where it
/// does not answer.
std::function<ScheduleFunction(const std::vector<OptionField>&)> asked_schedule(
    const std::string& worker, const std::string& name);

}  // namespace trainx::launch
