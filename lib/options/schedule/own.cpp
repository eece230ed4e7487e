#include "options/schedule/own.hpp"
#include "core/error.hpp"
#include "options/described.hpp"
#include "options/registry.hpp"
#include <cmath>

namespace trainx::options {

const std::vector<OwnSchedule>& described_schedules() { return registry<OwnSchedule>(); }
void set_described_schedules(std::vector<OwnSchedule> described) {
  registry<OwnSchedule>() = std::move(described);
}

ScheduleFunction checked_function(const OwnSchedule& o) {
  return [name = o.name, function = o.build(o.fields)](const ScheduleStep& step) {
    const auto refuse = [&](const std::string& sentence, const std::string& remedy) {
      return UserError(ExitCode::invalid_recipe, "schedule " + name + ": its function " + sentence +
                                                     " for step " + std::to_string(step.applied) +
                                                     "; " + remedy);
    };
    double factor = 0;
    try {
      factor = function(step);
    } catch (const UserError&) {
      throw;  // of the worker that was asked
    } catch (const std::exception& e) {
      throw refuse(std::string("fails (") + e.what() + ")", "mend it");
    }
    if (!(factor >= 0) || !std::isfinite(factor))
      throw refuse("returned " + std::to_string(factor),
                   "let it return a finite share of optimizer.lr, 0 or more");
    return factor;
  };
}

std::string check_description(const std::vector<OwnSchedule>& described,
                              const std::vector<std::string>& taken,
                              const std::set<std::string>& section) {
  return check_all_described("schedule", described, taken, section);
}

}  // namespace trainx::options
