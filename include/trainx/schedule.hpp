// Learning-rate schedules of your own: a function of the step.
//
//   struct CyclicOptions { std::int64_t period = 100; };   // with visit_fields, as of a model
//
//   trainx::add_schedule<CyclicOptions>("cyclic", "what `trainx list schedules` says",
//       [](const CyclicOptions& o, const trainx::ScheduleStep& step) {
//         return 1 - static_cast<double>(step.applied % o.period) / o.period;
//       });
//
// A recipe names it, its options beside: `schedule: {type: cyclic, period: 50, warmup: 10 steps}`.
// The function returns the share of optimizer.lr that the step trains with: finite, 0 or more.
// trainx makes the warm-up; the function is asked about steps after it. It must be pure: the
// planner asks for all steps before the run, a resumed run asks again.
#pragma once
#include <trainx/option_struct.hpp>
#include <trainx/schedule_definition.hpp>
#include <string>
#include <utility>
#include <vector>

namespace trainx {

/// `factor(options, step)` returns a number. Before worker_main.
template <class Options, class Factor>
void add_schedule(std::string name, std::string summary, Factor factor) {
  add_schedule_definition({std::move(name), std::move(summary), describe_options<Options>(),
                           [factor](const std::vector<OptionField>& fields) -> ScheduleFunction {
                             return [factor, options = read_options<Options>(fields)](
                                        const ScheduleStep& step) {
                               return static_cast<double>(factor(options, step));
                             };
                           }});
}

}  // namespace trainx
