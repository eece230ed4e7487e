// A model of the user's own as trainx sees it: described options, and a graph of modules made from
// them. <trainx/worker.hpp> makes these from torch::nn.
#pragma once
#include <trainx/graph.hpp>
#include <trainx/option_field.hpp>
#include <cstdint>
#include <functional>

namespace trainx {

/// What a model is built for.
struct ModelShape {
  std::int64_t max_positions = 0;  // T of the longest rows of tokens that it is given
  std::int64_t vocab_size = 0;
  std::int64_t num_labels = 0;  // classification: how many logits; else 0
};

struct ModelDefinition {
  std::string name, summary;
  std::vector<OptionField> options;  // with defaults
  std::function<Graph(const std::vector<OptionField>& options, const ModelShape& shape)> build;
};

/// Makes the model known to this worker; before worker_main. What is wrong with it (a name that is
/// taken, an option's key twice) worker_main tells.
void add_model_definition(ModelDefinition definition);

}  // namespace trainx
