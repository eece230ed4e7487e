#include "train/checkpoints.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "spec/arch/architecture.hpp"
#include <nlohmann/json.hpp>
#include <cmath>

namespace trainx::train {
namespace {

using nlohmann::json;

json read_state(const std::string& folder) {
  const std::string path = folder + "/trainer_state.json";
  const json j = json::parse(read_file(path), nullptr, false);
  if (!j.is_object() || !j.contains("seconds") || !j["seconds"].is_number()) throw UserError(ExitCode::bad_data, path + ": 'seconds' is missing; the checkpoint is not trainx's");
  for (const char* key : {"step", "applied_steps", "tokens_seen", "best_step", "threads"})
    if (!j.contains(key) || !j[key].is_number_integer()) throw UserError(ExitCode::bad_data, path + ": '" + key + "' is missing; the checkpoint is not trainx's");
  return j;
}

}  // namespace

checkpoint::Contents checkpoint_contents(const plan::RunPlan& plan, const ResidentState& resident, const TrainState& state, std::int64_t threads) {
  checkpoint::Contents c;
  c.tensor_files["model.safetensors"] = resident.weights();
  c.tensor_files["optimizer.safetensors"] = resident.states();
  c.text_files["config.json"] = spec::config_text(plan.dims, DType::f32);
  json j{{"step", state.step},
         {"applied_steps", state.applied_steps},
         {"tokens_seen", state.tokens_seen},
         {"seconds", state.seconds},
         {"best_step", state.best_step},
         {"threads", threads},
         {"loader", {{"next_position", state.step * plan.batch.global_batch_size}, {"seed", plan.recipe.run.seed}}}};
  j["best_eval_loss"] = std::isfinite(state.best_eval_loss) ? json(state.best_eval_loss) : json(nullptr);
  c.text_files["trainer_state.json"] = j.dump(2) + "\n";
  return c;
}

TrainState load_checkpoint(const std::string& folder, ResidentState& resident, bool with_states) {
  const json j = read_state(folder);
  resident.load_weights(folder + "/model.safetensors");
  if (with_states) resident.load_states(folder + "/optimizer.safetensors");
  TrainState state;
  state.step = j["step"];
  state.applied_steps = j["applied_steps"];
  state.tokens_seen = j["tokens_seen"];
  state.seconds = j["seconds"];
  state.best_step = j["best_step"];
  if (j.contains("best_eval_loss") && j["best_eval_loss"].is_number()) state.best_eval_loss = j["best_eval_loss"];
  return state;
}

std::int64_t checkpoint_threads(const std::string& folder) { return read_state(folder)["threads"]; }

}  // namespace trainx::train
