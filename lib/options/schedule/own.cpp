#include "options/schedule/own.hpp"
#include "core/error.hpp"
#include "options/described.hpp"
#include <cmath>

namespace trainx::options {
namespace {

std::vector<OwnSchedule>& schedules() {
  static std::vector<OwnSchedule> all;
  return all;
}

}  // namespace

const std::vector<OwnSchedule>& described_schedules() { return schedules(); }
void set_described_schedules(std::vector<OwnSchedule> described) {
  schedules() = std::move(described);
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
  std::set<std::string> names(taken.begin(), taken.end());
  for (const OwnSchedule& o : described)
    if (std::string problem = check_described("schedule", o.name, o.fields, names, section);
        !problem.empty())
      return problem;
  return {};
}

}  // namespace trainx::options
