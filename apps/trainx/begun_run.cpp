#include "begun_run.hpp"
#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"
#include "inputs.hpp"
#include "recipe/resolved.hpp"
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

namespace trainx::app {
namespace {

std::string id_of(const std::string& init_from) {
  const auto snapshot = hub_snapshot_of(init_from);
  return snapshot ? snapshot->id : init_from;
}

/// The dropouts (below model.options) that the recipe left to the folder, and the run has.
std::vector<std::string> keep_dropouts(architectures::ModelOptions& options,
                                       const architectures::ModelOptions& begun) {
  std::vector<std::string> kept;
  const auto keep = [&](const char* name, auto& dropout, const auto& old) {
    if (!dropout.is_auto() || old.is_auto()) return;
    dropout = old;
    kept.emplace_back(name);
  };
  std::visit(
      [&](auto& o) {
        if constexpr (requires { o.attention_dropout.is_auto(); })
          if (const auto* old = std::get_if<std::remove_cvref_t<decltype(o)>>(&begun)) {
            keep("dropout", o.dropout, old->dropout);
            auto attention = old->attention_dropout;
            if (attention.is_auto()) attention.value = 0;  // older versions had none
            keep("attention_dropout", o.attention_dropout, attention);
          }
      },
      options);
  return kept;
}

}  // namespace

void keep_what_the_run_began_with(recipe::LoadedRecipe& loaded) {
  auto& model = loaded.recipe.model;
  if (!model.init_from) return;
  const std::string folder = run_folder_of(loaded.recipe), resolved = folder + "/resolved.yaml";
  if (checkpoint::Store(folder).list().empty() || !std::filesystem::is_regular_file(resolved))
    return;
  const auto begun = recipe::read_resolved(resolved).recipe.model;
  for (const std::string& kept : keep_dropouts(model.options, begun.options))
    loaded.origins["model.options." + kept] = resolved;
  if (!begun.init_from || *begun.init_from == *model.init_from ||
      !hub_snapshot_of(*begun.init_from) || id_of(*begun.init_from) != id_of(*model.init_from))
    return;
  model.init_from = begun.init_from;
  loaded.origins["model.init_from"] = resolved;
}

}  // namespace trainx::app
