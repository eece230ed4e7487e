#include "plan/micro_steps.hpp"
#include "plan/duties.hpp"
#include "plan/stages.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

// Instructions of blocks that a plan makes programs of: some 10 us each, on a shared core. Where
// several ranks differ, each is followed by the check.
constexpr std::int64_t most_instructions = 8192, most_instructions_of_several_ranks = 2048;
constexpr std::int64_t fewest_micro_steps = 4;

}  // namespace

int micro_steps_in_program(const Draft& plan, std::size_t blocks) {
  const std::int64_t all = plan.batch.grad_accum_steps;
  if (plan.mesh.pipeline > 1 && !plan.every_micro_step)
    return static_cast<int>(std::min(all, micro_steps_under_way(plan)));
  if (plan.every_micro_step || all <= fewest_micro_steps) return static_cast<int>(all);
  if (plan.fewest_micro_steps) return static_cast<int>(fewest_micro_steps);
  const bool several = plan.in_parts() || duties_of(plan).size() > 1;
  const std::int64_t room = several ? most_instructions_of_several_ranks : most_instructions;
  const auto of_one = (2 * static_cast<std::int64_t>(blocks) + 1) *
                      static_cast<std::int64_t>(plan.row_lengths.size());
  return static_cast<int>(std::clamp(room / of_one, fewest_micro_steps, all));
}

}  // namespace trainx::plan
