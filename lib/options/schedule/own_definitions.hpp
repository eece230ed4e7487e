// The schedules that the user's worker added (trainx::add_schedule).
#pragma once
#include "options/schedule/own.hpp"

namespace trainx::options {

std::vector<OwnSchedule> schedule_descriptions();

}  // namespace trainx::options
