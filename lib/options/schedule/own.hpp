#pragma once
#include "options/field.hpp"
#include "trainx/schedule_definition.hpp"
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::options {

struct OwnSchedule;
/// Schedules of the worker that is named, in the order of its description. Set once, before the
/// first recipe is read.
const std::vector<OwnSchedule>& described_schedules();
void set_described_schedules(std::vector<OwnSchedule> schedules);

/// A schedule of the user's own worker (trainx/schedule.hpp): in a description with defaults, in a
/// recipe as written.
struct OwnSchedule {
  static constexpr std::string_view of_worker = "a schedule";
  static constexpr bool has_final_ratio = false;
  std::string name, summary;
  std::vector<OptionField> fields;
  // in the worker its own function; elsewhere one that asks the worker
  std::function<ScheduleFunction(const std::vector<OptionField>&)> build;

  static const std::vector<OwnSchedule>& described() { return described_schedules(); }
};

template <class Visitor>
void visit_fields(Visitor& field, OwnSchedule& o) {
  for (OptionField& f : o.fields)
    std::visit([&](auto& value) { field(f.key, value, f.limits, f.doc); }, f.value);
}

/// The function with the schedule's options, which throws UserError 78 for what is no share of the
/// learning rate (negative, not finite), and for what the function throws.
ScheduleFunction checked_function(const OwnSchedule& o);

/// What forbids a description, as a sentence; empty: nothing. `taken`: names of trainx's own;
/// `section`: keys of the section that the options stand in.
std::string check_description(const std::vector<OwnSchedule>& schedules,
                              const std::vector<std::string>& taken,
                              const std::set<std::string>& section);

}  // namespace trainx::options
