// The models that the user's worker added (trainx::add_model).
#pragma once
#include "architectures/custom.hpp"
#include "trainx/model_definition.hpp"
#include <cstdint>

namespace trainx::model {

const std::vector<ModelDefinition>& model_definitions();
/// InternalError where this worker has no such model.
const ModelDefinition& model_definition(const std::string& name);
/// As they are described, without what was measured.
std::vector<architectures::CustomOptions> model_descriptions();

struct BuiltGraph : Graph {
  /// By module and parameter: the name that it is saved under, which is that of the first module
  /// that holds the tensor.
  std::vector<std::vector<std::string>> saved_names;
};

/// The graph, built after the generator of random numbers was seeded with `seed`, as
/// torch::manual_seed does. Throws UserError 78 with a sentence for what trainx cannot train, and
/// for what the model's own code throws.
BuiltGraph build_graph(const architectures::CustomDims& dims, std::uint64_t seed);

}  // namespace trainx::model
