// A model of the user's own as trainx sees it: described options, and a chain of modules made from
// them. <trainx/worker.hpp> makes these from torch::nn.
#pragma once
#include <ATen/core/Tensor.h>
#include <trainx/option_field.hpp>
#include <cstdint>
#include <functional>
#include <memory>

namespace trainx {

/// What a model is built for.
struct ModelShape {
  std::int64_t max_positions = 0;  // T of the longest rows of tokens that it is given
  std::int64_t vocab_size = 0;
  std::int64_t num_labels = 0;  // classification: how many logits; else 0
};

/// A link of the chain. The first gets tokens, i64 [B, T]; each other one what the one before
/// returns; the last returns logits: [B, T, vocab_size] for the next token or tokens in their own
/// place, [B, num_labels] for classification.
struct Module {
  struct NamedTensor {
    std::string name;
    at::Tensor tensor;
  };
  // of letters, digits, '_' and '-'; its parameters are saved as "<name>.<parameter>"
  std::string name;
  std::vector<NamedTensor> parameters, buffers;
  std::function<at::Tensor(const at::Tensor&)> forward;
  std::function<void(bool training)> set_training;
  std::shared_ptr<void> owner;  // of what `forward` computes with
};

struct ModelDefinition {
  std::string name, summary;
  std::vector<OptionField> options;  // with defaults
  std::function<std::vector<Module>(const std::vector<OptionField>& options,
                                    const ModelShape& shape)>
      build;
};

/// Makes the model known to this worker; before worker_main. What is wrong with it (a name that is
/// taken, an option's key twice) worker_main tells.
void add_model_definition(ModelDefinition definition);

}  // namespace trainx
