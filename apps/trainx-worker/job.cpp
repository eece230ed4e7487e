#include "checkpoint/checkpoint.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include <filesystem>

namespace trainx::worker {

plan::RunPlan plan_of(const launch::Job& job, const recipe::Recipe& recipe) {
  plan::RunPlan plan = plan::make_run_plan(recipe, job.facts);
  if (plan::fingerprint(plan) != job.plan_fingerprint) throw InternalError("trainx and trainx-worker make different plans of this recipe; they are of different builds");
  return plan;
}

std::string weights_folder(const launch::Job& job) {
  namespace fs = std::filesystem;
  if (!job.checkpoint.empty()) return job.checkpoint;
  if (fs::exists(job.run_folder + "/model.safetensors")) return job.run_folder;
  std::vector<checkpoint::Skipped> skipped;
  const checkpoint::Found found = checkpoint::Store(job.run_folder).newest_valid(&skipped);
  if (!found.path.empty()) return found.path;
  std::string why;
  for (const auto& s : skipped) why += "; " + s.path + ": " + s.why;
  throw UserError(ExitCode::input_missing, job.run_folder + " holds no valid checkpoint and no model.safetensors" + why + "; train it first");
}

}  // namespace trainx::worker
