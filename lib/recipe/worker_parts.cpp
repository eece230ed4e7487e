#include "recipe/worker_parts.hpp"
#include "recipe/walk.hpp"

namespace trainx::recipe {

std::string make_known(WorkerParts parts) {
  std::string problem = architectures::check_description(
      parts.models, alternative_names(architectures::ModelOptions{}));
  if (problem.empty())
    problem = options::check_description(parts.optimizers,
                                         alternative_names(options::OptimizerOptions{}));
  if (problem.empty())
    problem =
        options::check_description(parts.schedules, alternative_names(options::ScheduleOptions{}));
  if (!problem.empty()) return problem;
  architectures::set_described_models(std::move(parts.models));
  options::set_described_optimizers(std::move(parts.optimizers));
  options::set_described_schedules(std::move(parts.schedules));
  return {};
}

}  // namespace trainx::recipe
