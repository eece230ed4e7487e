#include "plan/adapted_dims.hpp"
#include "adapter/config.hpp"
#include "architectures/architecture.hpp"
#include "architectures/own_head.hpp"
#include "core/adapter_base.hpp"
#include "core/json_text.hpp"
#include "plan/adapter_modules.hpp"
#include "plan/model_type.hpp"
#include <algorithm>

namespace trainx::plan {

namespace {

/// Of a folder that holds an adapter of a model of these dims.
bool parts_head(const std::string& folder, const architectures::ModelDims& dims) {
  if (!is_adapter_folder(folder) || !architectures::has_partable_head(dims)) return false;
  const std::string file = folder + "/adapter_config.json";
  const adapter::Config config = adapter::read_config(read_json_text(file), file);
  return !architectures::has_partable_head(
      adapted_dims(config, dims, adapter::Unmatched::warned_of));
}

}  // namespace

architectures::ModelDims adapted_dims(const adapter::Config& config,
                                      const architectures::ModelDims& dims,
                                      adapter::Unmatched unmatched) {
  if (!architectures::has_partable_head(dims)) return dims;
  const AdapterModules modules = adapter_modules(dims);
  const adapter::Chosen chosen =
      adapter::choose_targets(config, modules.all, model_type_of(dims), unmatched);
  const auto is_tied = [&](std::size_t module) {
    return modules.all[module].input_embedding || modules.all[module].tied_to_embedding;
  };
  const bool changes =
      std::ranges::any_of(chosen.saved_whole, is_tied) ||
      std::ranges::any_of(chosen.adapted, is_tied, [](const auto& t) { return t.module; }) ||
      (!chosen.tied_head_has_rows &&
       std::ranges::any_of(chosen.token_rows, is_tied, [](const auto& r) { return r.module; }));
  architectures::ModelDims adapted = dims;
  if (changes && chosen.shares_saved_embedding.empty()) architectures::part_head(adapted);
  return adapted;
}

architectures::ModelDims read_merged_config(const std::string& folder) {
  architectures::ModelDims dims = architectures::read_config(folder);
  if (parts_head(folder, dims)) architectures::part_head(dims);
  return dims;
}

facts::ModelFolderFacts look_at_merged_folder(const std::string& folder) {
  facts::ModelFolderFacts found = facts::look_at_model_folder(folder);
  found.head_is_parted = parts_head(folder, found.dims);
  if (found.head_is_parted) architectures::part_head(found.dims);
  return found;
}

facts::Facts gather_facts(const recipe::Recipe& recipe) {
  facts::Facts facts = facts::gather_facts(recipe);
  if (const auto& from = recipe.model.init_from; from && is_adapter_folder(*from))
    facts.model_folder = look_at_merged_folder(*from);
  return facts;
}

}  // namespace trainx::plan
