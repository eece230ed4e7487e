#include "begun_run.hpp"
#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"
#include "inputs.hpp"
#include <filesystem>
#include <type_traits>

namespace trainx::app {
namespace {

std::string id_of(const std::string& init_from) {
  const auto snapshot = hub_snapshot_of(init_from);
  return snapshot ? snapshot->id : init_from;
}

/// True if the recipe left the dropout to the folder, and the run has one.
bool keep_dropout(architectures::ModelOptions& options, const architectures::ModelOptions& begun) {
  return std::visit(
      [&](auto& o) {
        if constexpr (requires { o.dropout.is_auto(); }) {
          const auto* old = std::get_if<std::remove_cvref_t<decltype(o)>>(&begun);
          if (!old || !o.dropout.is_auto() || old->dropout.is_auto()) return false;
          o.dropout = old->dropout;
          return true;
        } else {
          return false;
        }
      },
      options);
}

}  // namespace

void keep_what_the_run_began_with(recipe::LoadedRecipe& loaded) {
  auto& model = loaded.recipe.model;
  if (!model.init_from) return;
  const std::string folder = run_folder_of(loaded.recipe), resolved = folder + "/resolved.yaml";
  if (checkpoint::Store(folder).list().empty() || !std::filesystem::is_regular_file(resolved))
    return;
  const auto begun = recipe::parse_recipe(read_file(resolved), resolved).recipe.model;
  if (keep_dropout(model.options, begun.options))
    loaded.origins["model.options.dropout"] = resolved;
  if (!begun.init_from || *begun.init_from == *model.init_from ||
      !hub_snapshot_of(*begun.init_from) || id_of(*begun.init_from) != id_of(*model.init_from))
    return;
  model.init_from = begun.init_from;
  loaded.origins["model.init_from"] = resolved;
}

}  // namespace trainx::app
