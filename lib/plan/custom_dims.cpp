#include "plan/custom_dims.hpp"
#include "recipe/walk.hpp"

namespace trainx::plan {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, sentence);
}

/// A size that an option of the recipe may say (0: it does not), written back once decided.
std::int64_t decide_size(architectures::CustomOptions& o, const char* key, std::int64_t otherwise) {
  OptionField* field = o.find(key);
  if (!field) return otherwise;
  auto& written = std::get<std::int64_t>(field->value);
  if (written == 0) written = otherwise;
  return written;
}

}  // namespace

architectures::CustomDims decide_custom(architectures::CustomOptions& o,
                                        const recipe::Recipe& recipe, const facts::Facts& facts) {
  // weights have the sizes that they were trained with
  const architectures::CustomDims* saved = nullptr;
  if (const auto& folder = facts.model_folder) {
    saved = std::get_if<architectures::CustomDims>(&folder->dims);
    if (!saved || saved->options.name != o.name)
      refuse("model.type: the recipe says " + o.name + ", " + folder->path +
             "/config.json is of a " + std::string(architectures::architecture_name(folder->dims)));
  }
  architectures::CustomDims dims;
  dims.task = architectures::task(o);
  dims.vocab_size = decide_size(o, "vocab_size", saved ? saved->vocab_size : facts.data.vocab_size);
  dims.max_positions =
      decide_size(o, "max_positions", saved ? saved->max_positions : recipe.data.sequence_length);
  dims.num_labels = dims.task == architectures::Task::classification
                        ? decide_size(o, "num_labels", saved ? saved->num_labels : 0)
                        : 0;
  const bool has_vocab_size = o.find("vocab_size");
  if (dims.vocab_size < 1)
    refuse("model.options: " + o.name + " needs vocab_size, which data.type " +
           recipe::alternative_name(recipe.data.source) + " does not say; " +
           (has_vocab_size ? "set model.options.vocab_size"
                           : "give the model an option of that name"));
  if (dims.task == architectures::Task::classification && dims.num_labels < 2)
    refuse("model.options: " + o.name + " needs num_labels of 2 or more for classification");
  if (recipe.data.sequence_length > dims.max_positions)
    refuse("data.sequence_length (" + std::to_string(recipe.data.sequence_length) +
           ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) + ")");
  if (facts.data.vocab_size > dims.vocab_size)
    refuse("model.options.vocab_size (" + std::to_string(dims.vocab_size) +
           ") is smaller than the data's vocabulary (" + std::to_string(facts.data.vocab_size) +
           ")");
  dims.options = o;
  dims.shapes = facts.model_shapes;
  return dims;
}

}  // namespace trainx::plan
