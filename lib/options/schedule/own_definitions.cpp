#include "options/schedule/own_definitions.hpp"
#include "options/registry.hpp"

namespace trainx {

void add_schedule_definition(ScheduleDefinition d) {
  options::registry<ScheduleDefinition>().push_back(std::move(d));
}

namespace options {

std::vector<OwnSchedule> schedule_descriptions() {
  std::vector<OwnSchedule> all;
  for (const ScheduleDefinition& d : registry<ScheduleDefinition>())
    all.push_back({d.name, d.summary, d.options, d.build});
  return all;
}

}  // namespace options
}  // namespace trainx
