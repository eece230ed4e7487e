// Adapters that change the head or the embedding alone of a model where both are one weight: the
// model that they belong to has a head of its own.
#pragma once
#include "adapter/targets.hpp"
#include "architectures/dims.hpp"
#include "facts/facts.hpp"
#include <string>

namespace trainx::plan {

/// The model that an adapter of these settings stands beside: `dims`, with a head of its own where
/// the adapter changes the embedding or the tied head, and does not keep both equal. Throws as
/// adapter_of.
architectures::ModelDims adapted_dims(const adapter::Config& config,
                                      const architectures::ModelDims& dims,
                                      adapter::Unmatched unmatched);

/// architectures::read_config of a model's folder, or of an adapter's folder as it is merged.
architectures::ModelDims read_merged_config(const std::string& folder);
/// facts::look_at_model_folder likewise.
facts::ModelFolderFacts look_at_merged_folder(const std::string& folder);
/// facts::gather_facts likewise, of a recipe whose model begins from such a folder.
facts::Facts gather_facts(const recipe::Recipe& recipe);

}  // namespace trainx::plan
