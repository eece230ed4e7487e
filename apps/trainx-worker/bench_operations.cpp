#include "bench_run.hpp"
#include "commands.hpp"
#include "plan/explain/operations.hpp"
#include <cstdio>
#include <nlohmann/json.hpp>

namespace trainx::worker {

int bench_operations(const launch::Job& job) {
  constexpr std::int64_t warm_up_steps = 3, timed_steps = 5;
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe");
  const plan::RunPlan plan = plan_of(job, loaded.recipe);
  BenchRun bench(plan, job);
  bench.run(1);
  bench.parts().device->tune();
  bench.run(warm_up_steps);
  const auto timed = bench.run_timed(timed_steps);
  double step_ms = 0;
  for (const execute::StepTimes& t : timed) step_ms += t.ms / static_cast<double>(timed.size());
  const auto rows = plan::operation_rows(plan, execute::by_operation(timed));
  if (job.output.json) {
    auto j = plan::operations_json(plan, rows, step_ms);
    j["machine"] = bench.parts().device->name();
    std::printf("%s\n", j.dump().c_str());
  } else {
    std::printf("%s", plan::describe_operations(plan, rows, step_ms).c_str());
  }
  return 0;
}

}  // namespace trainx::worker
