#pragma once
#include <trainx/option_field.hpp>
#include <trainx/schedule_step.hpp>
#include <functional>
#include <string>
#include <vector>

namespace trainx {

/// The share of optimizer.lr in that step.
using ScheduleFunction = std::function<double(const ScheduleStep&)>;

/// A schedule of the user's own as trainx sees it. <trainx/schedule.hpp> makes these.
struct ScheduleDefinition {
  std::string name, summary;
  std::vector<OptionField> options;  // with defaults
  std::function<ScheduleFunction(const std::vector<OptionField>& options)> build;
};

/// Makes the schedule known to this worker; before worker_main, which tells what is wrong with it.
void add_schedule_definition(ScheduleDefinition definition);

}  // namespace trainx
