#include "bench_run.hpp"
#include "commands.hpp"
#include "plan/explain/memory_anatomy.hpp"
#include <cstdio>
#include <nlohmann/json.hpp>

namespace trainx::worker {

int bench_memory_anatomy(const launch::Job& job) {
  constexpr std::int64_t steps = 3, most_steps = 64;  // on a GPU the second is captured
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe");
  const plan::RunPlan plan = plan_of(job, loaded.recipe);
  BenchRun bench(plan, job);
  bench.run(steps);
  for (std::int64_t n = steps; n < most_steps && bench.parts().executor->operand_bytes().empty();
       ++n)
    bench.run(1);
  if (bench.parts().executor->operand_bytes().empty())
    throw UserError(ExitCode::usage, "bench memory-anatomy: none of " + std::to_string(most_steps) +
                                         " steps had rows of " +
                                         std::to_string(plan.row_lengths.back()) +
                                         " tokens, which memory is planned for; lower "
                                         "data.sequence_length, or give one data.pad_to");
  const execute::Device& device = *bench.parts().device;
  const auto rows =
      plan::memory_anatomy(plan, {bench.parts().executor->operand_bytes(), device.arena_bytes(),
                                  device.peak_bytes(), device.process_bytes()});
  if (job.output.json) {
    auto j = plan::memory_json(plan, rows);
    j["machine"] = device.name();
    std::printf("%s\n", j.dump().c_str());
  } else {
    std::printf("%s", plan::describe_memory(plan, rows).c_str());
  }
  return 0;
}

}  // namespace trainx::worker
