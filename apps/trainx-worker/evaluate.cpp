#include "commands.hpp"
#include "core/error.hpp"
#include "data/target_check.hpp"
#include "model/model.hpp"
#include "train/build.hpp"
#include "train/checkpoints.hpp"
#include "train/module_buffers.hpp"
#include "execute/shared_cores.hpp"
#include "execute/threads.hpp"
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

bool keeps_states(const std::string& folder) {
  return std::filesystem::exists(folder + "/optimizer.safetensors") ||
         std::filesystem::exists(folder + "/optimizer.safetensors.index.json");
}

/// What a checkpoint's run no longer computes in fp8; nothing of a folder without a state.
std::set<std::string> fallback_of(const std::string& folder) {
  if (!std::filesystem::exists(folder + "/trainer_state.json")) return {};
  const auto weights = train::read_saved_state(folder).state.fp8_fallback;
  return {weights.begin(), weights.end()};
}

}  // namespace

int evaluate(const launch::Job& job, metrics::Console& console) {
  recipe::LoadOptions options;
  options.trains = false;
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe", options);
  plan::RunPlan plan = plan_of(job, loaded.recipe);
  const auto source = train::open_split(plan, data::Split::eval);
  if (!source)
    throw UserError(ExitCode::input_missing,
                    "the recipe names no held-out data; set data.eval or data.held_out");
  for (const std::string& finding : data::check_targets(*source, data::Split::eval))
    console.warning(finding);
  const std::string folder = weights_folder(job);
  if (const auto weights = fallback_of(folder); !weights.empty())
    plan = plan::with_fallback(plan, job.facts, weights);
  const bool averaged = plan.recipe.eval.weights == recipe::EvalWeights::average;
  // all else there only training reads and writes
  if (plan.recipe.memory.parameter_offload != recipe::ParameterOffload::disk && !averaged)
    plan.program_set.roles.front().memory.disk_bytes = 0;
  execute::set_compute_threads(plan.threads);
  const execute::SharedCores shared_cores(plan.on_gpu ? 1 : plan.threads);
  const auto device = execute::open_device(plan);
  state::ResidentState resident(plan.role().train.front(),
                                {device->residents(), device->host(), device->disk()},
                                averaged ? plan.update.states : std::vector<program::StateSpec>{});
  resident.load_weights(folder, plan.dims);
  // where nothing has been trained the average is the weights
  if (averaged && keeps_states(folder)) resident.load_states(folder);
  device->upload();
  const auto blocks = train::build_blocks(plan.dims, plan.role().evaluate);
  train::load_module_buffers(folder);
  train::Evaluator evaluator(plan, *device, blocks, *source);
  evaluator.prepare_weights();
  const train::EvalResult result = evaluator.run(job.eval_batches ? plan.eval_samples : -1);
  std::int64_t step = 0;
  if (const auto name = std::filesystem::canonical(folder).filename().string();
      name.starts_with("checkpoint-"))
    step = std::stoll(name.substr(11));
  if (!std::isfinite(result.loss))
    throw UserError(
        ExitCode::diverged,
        folder + ": " + train::not_finite_held_out(step) +
            "; take an earlier checkpoint, or look at the data (`trainx data inspect`)");
  const std::int64_t batch = plan.batch.global_batch_size;
  const auto batches_of = [&](std::int64_t samples) { return (samples + batch - 1) / batch; };
  console.answer({step, result.loss, result.targets, result.metrics,
                  job.facts.data.entropy_floor_nats, batches_of(result.samples),
                  batches_of(result.all_samples)});
  return 0;
}

}  // namespace trainx::worker
