// Which weights `eval`, `generate` and `export` read.
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/verify.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"
#include "inputs.hpp"
#include "metrics/console.hpp"
#include "recipe/resolved.hpp"
#include <filesystem>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

recipe::LoadedRecipe resolved_recipe(const fs::path& run) {
  return recipe::read_resolved((run / "resolved.yaml").string());
}

std::string newest_checkpoint(const std::string& run, const Context& context) {
  const checkpoint::Store store(run);
  std::vector<checkpoint::Skipped> skipped;
  const checkpoint::Found found = store.newest_valid(&skipped);
  const auto& o = context.output;
  metrics::Console console({o.json, o.quiet, o.verbose, o.color});
  for (const auto& s : skipped) console.skipped_checkpoint(s.path, s.why);
  if (!found.path.empty()) return found.path;
  if (skipped.empty())
    throw UserError(ExitCode::input_missing, run + " holds no checkpoint yet; train it first");
  throw UserError(ExitCode::no_checkpoint,
                  run + " holds no checkpoint that verifies; see trainx ckpt verify " + run);
}

}  // namespace

WeightsSource find_weights(const std::string& named, const Context& context) {
  const auto snapshot = fs::exists(named) ? std::nullopt : find_in_hub_cache(named);
  const std::string folder = snapshot ? snapshot->folder : named;
  const fs::path path(folder);
  if (!fs::exists(path))
    throw UserError(ExitCode::input_missing,
                    folder + " is not there; give a run's folder (outputs/NAME) or a model's");
  if (fs::exists(path / "resolved.yaml"))
    return {folder, newest_checkpoint(folder, context), resolved_recipe(path)};
  const bool adapts = is_adapter_folder(folder);
  const std::string model = model_folder_of(folder);
  if (!fs::exists(fs::path(model) / "config.json") || !checkpoint::has_weights(model) ||
      (adapts && !fs::exists(path / checkpoint::adapter_weights_name)))
    throw UserError(ExitCode::input_missing,
                    (adapts ? model + ", which " : "") + folder +
                        (adapts ? " adapts, is no model's folder (config.json, model.safetensors)"
                                : " is neither a run's folder (resolved.yaml) nor a model's "
                                  "(config.json, model.safetensors or its index) nor an adapter's "
                                  "(adapter_config.json)"));
  // A checkpoint inside a run: the run's recipe says what its tokens mean.
  const fs::path run = fs::canonical(path).parent_path();
  if (!fs::exists(run / "resolved.yaml")) {
    checkpoint::require_sound(folder);
    return {folder, folder, std::nullopt};
  }
  if (const std::string problem =
          checkpoint::Store(run.string()).verify(fs::canonical(path).string());
      !problem.empty())
    throw UserError(ExitCode::bad_data, folder + " is damaged: " + problem);
  return {run.string(), folder, resolved_recipe(run)};
}

}  // namespace trainx::app
