#include "decide_ranks.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "launch/bind_workers.hpp"
#include "launch/visible_gpus.hpp"
#include "plan/device.hpp"
#include <cstdlib>

namespace trainx::app {

launch::LaunchPlan decide_ranks(recipe::Recipe& recipe, facts::Facts& facts,
                                const launch::LaunchFlags& flags) {
  launch::LaunchRequest wish;
  const auto written = recipe.parallel.world_size.value;
  wish.world_size = static_cast<int>(written.value_or(0));
  if (!recipe.parallel.mode.is_auto() &&
      *recipe.parallel.mode.value == recipe::ParallelMode::single)
    wish.world_size = 1;
  const bool on_gpu = plan::computes_on_gpu(recipe, facts);
  if (on_gpu) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    wish.visible_gpus = launch::visible_gpus(static_cast<int>(facts.hardware.gpus.size()),
                                             visible != nullptr, visible ? visible : "");
  }
  wish.run_name = recipe.run.name;
  launch::LaunchPlan plan = launch::decide_membership(environment_variable, flags, wish);
  plan.hang_seconds = recipe.run.hang_limit.amount;
  const int ranks = plan.first.world_size;
  if (written && *written != ranks)
    throw UserError(
        ExitCode::invalid_recipe,
        "parallel.world_size is " + std::to_string(*written) + ", and " +
            (plan.first.launcher == "flags" ? "trainx on all hosts" : plan.first.launcher) +
            " starts " + std::to_string(ranks) + " ranks; leave it at auto, or start as many");
  recipe.parallel.world_size.value = ranks;
  facts.hardware.local_ranks = plan.first.local_world_size;
  launch::bind_workers(plan, on_gpu ? facts.hardware.gpus : std::vector<facts::Gpu>());
  return plan;
}

}  // namespace trainx::app
