#include "train/checkpoints.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "spec/arch/architecture.hpp"
#include <nlohmann/json.hpp>
#include <cmath>

namespace trainx::train {
using nlohmann::json;

checkpoint::Contents checkpoint_contents(const plan::RunPlan& plan, const ResidentState& resident, const TrainState& state, std::int64_t threads, const std::map<std::string, std::string>& carried) {
  checkpoint::Contents c;
  c.text_files = carried;
  c.tensor_files["model.safetensors"] = resident.weights();
  c.tensor_files["optimizer.safetensors"] = resident.states();
  c.text_files["config.json"] = spec::config_text(plan.dims, DType::f32);
  json j{{"step", state.step},
         {"applied_steps", state.applied_steps},
         {"tokens_seen", state.tokens_seen},
         {"seconds", state.seconds},
         {"best_step", state.best_step},
         {"threads", threads},
         {"world_size", plan.batch.world_size},
         {"compute", name_of(plan.compute)},
         {"loader", {{"next_position", state.step * plan.batch.global_batch_size}, {"samples", plan.train_samples}}}};
  if (plan.compute == DType::f16) j["loss_scale"] = {{"scale", state.loss_scale}, {"finite_steps", state.finite_steps}};
  j["best_eval_loss"] = std::isfinite(state.best_eval_loss) ? json(state.best_eval_loss) : json(nullptr);
  c.text_files["trainer_state.json"] = j.dump(2) + "\n";
  return c;
}

SavedState read_saved_state(const std::string& folder) {
  const std::string path = folder + "/trainer_state.json";
  const json j = json::parse(read_file(path), nullptr, false);
  try {
    SavedState saved;
    j.at("step").get_to(saved.state.step);
    j.at("applied_steps").get_to(saved.state.applied_steps);
    j.at("tokens_seen").get_to(saved.state.tokens_seen);
    j.at("seconds").get_to(saved.state.seconds);
    j.at("best_step").get_to(saved.state.best_step);
    if (j.contains("loss_scale")) {
      j.at("loss_scale").at("scale").get_to(saved.state.loss_scale);
      j.at("loss_scale").at("finite_steps").get_to(saved.state.finite_steps);
    }
    if (const json& best = j.at("best_eval_loss"); !best.is_null()) best.get_to(saved.state.best_eval_loss);
    j.at("threads").get_to(saved.threads);
    saved.world_size = j.value("world_size", std::int64_t{1});
    j.at("loader").at("samples").get_to(saved.train_samples);
    return saved;
  } catch (const json::exception& e) {
    throw UserError(ExitCode::bad_data, path + " is not a state that trainx saved: " + e.what());
  }
}

}  // namespace trainx::train
