#include "options/schedule/own_definitions.hpp"

namespace trainx {
namespace {

std::vector<options::OwnSchedule>& added_schedules() {
  static std::vector<options::OwnSchedule> all;
  return all;
}

}  // namespace

void add_schedule_definition(ScheduleDefinition d) {
  added_schedules().push_back(
      {std::move(d.name), std::move(d.summary), std::move(d.options), std::move(d.build)});
}

namespace options {

std::vector<OwnSchedule> schedule_descriptions() { return added_schedules(); }

}  // namespace options
}  // namespace trainx
