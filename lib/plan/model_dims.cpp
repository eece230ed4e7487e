#include "plan/model_dims.hpp"

namespace trainx::plan {
namespace {

struct Dimension {
  const char* key;
  const std::optional<std::int64_t>& written;
  std::int64_t& decided;
};

}  // namespace

spec::Gpt2Dims plan_model_dims(const recipe::Recipe& recipe, const facts::Facts& facts) {
  const auto& o = std::get<spec::Gpt2Options>(recipe.model.options);
  spec::Gpt2Dims dims = spec::gpt2_sizes().front().second;
  for (const auto& [name, size] : spec::gpt2_sizes())
    if (recipe.model.size == name) dims = size;
  if (facts.model_folder) dims = facts.model_folder->dims;
  const std::vector<Dimension> dimensions{{"num_layers", o.num_layers, dims.num_layers},
                                          {"num_heads", o.num_heads, dims.num_heads},
                                          {"hidden_size", o.hidden_size, dims.hidden_size},
                                          {"intermediate_size", o.intermediate_size, dims.intermediate_size},
                                          {"max_positions", o.max_positions, dims.max_positions},
                                          {"vocab_size", o.vocab_size, dims.vocab_size}};
  for (const auto& d : dimensions) {
    if (!d.written) continue;
    if (facts.model_folder && *d.written != d.decided)
      throw UserError(ExitCode::invalid_recipe, std::string("model.options.") + d.key + ": the recipe says " + std::to_string(*d.written) + ", " + facts.model_folder->path +
                                                    "/config.json says " + std::to_string(d.decided) + "; leave it out of the recipe");
    d.decided = *d.written;
  }
  if (!facts.model_folder) {
    if (o.hidden_size && !o.intermediate_size) dims.intermediate_size = 4 * dims.hidden_size;
    if (!o.vocab_size && facts.data.vocab_size > 0) dims.vocab_size = facts.data.vocab_size;
    if (!o.max_positions && !recipe.model.size && recipe.data.sequence_length > dims.max_positions) dims.max_positions = recipe.data.sequence_length;
  }
  dims.dropout = o.dropout;
  dims.initializer_range = o.initializer_range;
  if (dims.hidden_size % dims.num_heads != 0)
    throw UserError(ExitCode::invalid_recipe, "model.options.hidden_size (" + std::to_string(dims.hidden_size) + ") must be a multiple of num_heads (" + std::to_string(dims.num_heads) + ")");
  if (recipe.data.sequence_length > dims.max_positions)
    throw UserError(ExitCode::invalid_recipe, "data.sequence_length (" + std::to_string(recipe.data.sequence_length) + ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) + ")");
  if (facts.data.vocab_size > dims.vocab_size)
    throw UserError(ExitCode::invalid_recipe, "model.options.vocab_size (" + std::to_string(dims.vocab_size) + ") is smaller than the data's vocabulary (" + std::to_string(facts.data.vocab_size) + ")");
  return dims;
}

}  // namespace trainx::plan
