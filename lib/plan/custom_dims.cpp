#include "plan/custom_dims.hpp"
#include "architectures/exported.hpp"
#include "plan/precision.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

[[noreturn]] void refuse_custom(const std::string& sentence) {
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

/// Is the module computed again?
bool is_recomputed(const architectures::CustomModule& m, RecomputeLevel level) {
  return level == RecomputeLevel::full || (level == RecomputeLevel::selective && m.cheap);
}

/// The first module that a recomputation would change twice; null: none.
const architectures::CustomModule* changed_twice(const architectures::CustomDims& dims,
                                                 RecomputeLevel level) {
  if (dims.shapes.empty()) return nullptr;
  const auto& modules = dims.shapes.front().modules;
  const auto found = std::ranges::find_if(modules, [&](const architectures::CustomModule& m) {
    return !m.changing.empty() && is_recomputed(m, level);
  });
  return found == modules.end() ? nullptr : &*found;
}

bool has_cheap(const architectures::CustomDims& dims) {
  return !dims.shapes.empty() &&
         std::ranges::any_of(dims.shapes.front().modules, &architectures::CustomModule::cheap);
}

/// Levels that the recipe asks for.
void require_possible(const architectures::CustomDims& dims, const recipe::MemorySection& memory) {
  if (!memory.activation_checkpoint.value || dims.shapes.empty()) return;
  for (const RecomputeLevel level : *memory.activation_checkpoint.value) {
    if (level == RecomputeLevel::selective && !has_cheap(dims))
      refuse_custom(
          "memory.activation_checkpoint: selective can have no effect with " + dims.options.name +
          ", which has no module that is cheap to compute again (trainx::Graph::cheap); write "
          "none or full");
    if (const auto* m = changed_twice(dims, level))
      refuse_custom("memory.activation_checkpoint: module '" + m->name + "' of " +
                    dims.options.name + " changes its buffer '" + m->changing.front() +
                    "' in forward and cannot be recomputed; write none");
  }
}

/// Modules that compute in another type have buffers of their own, which training does not change.
void require_same_buffers(const architectures::CustomDims& dims, const recipe::Recipe& recipe) {
  if (dims.shapes.empty() || evaluation_dtype_of(recipe) == dtype_of(recipe.precision.compute))
    return;
  for (const architectures::CustomModule& m : dims.shapes.front().modules)
    if (!m.changing.empty())
      refuse_custom("eval.precision: module '" + m.name + "' of " + dims.options.name +
                    " changes its buffer '" + m.changing.front() +
                    "' in training, which evaluations must read as it is; write auto");
}

/// Checkpoints and evaluations take buffers from the first rank, which has one stage's alone.
void require_constant_buffers(const architectures::CustomDims& dims, std::int64_t stages) {
  if (dims.shapes.empty() || stages == 1) return;
  for (const architectures::CustomModule& m : dims.shapes.front().modules)
    if (!m.changing.empty())
      refuse_custom("parallel.pipeline: module '" + m.name + "' of " + dims.options.name +
                    " changes its buffer '" + m.changing.front() +
                    "' in forward, which other stages do not compute; write 1");
}

/// Evaluations of a loss of the user's own have its metrics alone.
void require_best_metric(const architectures::CustomDims& dims, recipe::BestMetric metric) {
  const std::string name = recipe::write_value(metric);
  const std::vector<std::string> own = dims.metrics();
  if (!dims.own_loss() || metric == recipe::BestMetric::loss ||
      std::ranges::find(own, name) != own.end())
    return;
  refuse_custom("eval.best.metric is " + name + ", which the loss of " + dims.options.name +
                " does not return; write loss");
}

/// Of a text of its own length, which the folder has a longest one for.
void decide_targets(architectures::CustomDims& dims, const recipe::Recipe& recipe,
                    const facts::ModelFolderFacts& folder) {
  if (dims.task != architectures::Task::seq2seq) {
    if (recipe.data.target_length)
      refuse_custom("data.target_length can have no effect with an export for " +
                    recipe::write_value(dims.task) +
                    ", whose targets are the tokens' own text: leave it out");
    return;
  }
  const std::int64_t longest = recipe::target_length(recipe.data),
                     most = architectures::most_target_tokens(folder.config);
  if (longest > most)
    refuse_custom("data.target_length (" + std::to_string(longest) +
                  ") exceeds the targets that the model was exported for (" + std::to_string(most) +
                  " tokens); set it, or export the model again with another --target-length");
  architectures::set_target_length(dims, recipe.data.sequence_length, longest);
}

/// The folder says what the model learns.
void require_export(const architectures::CustomDims* saved, architectures::Task task) {
  if (!saved)
    refuse_custom(
        "model.type: exported needs model.init_from, a folder that scripts/trainx-export wrote");
  if (saved->task != task)
    refuse_custom("model.options.task is " + recipe::write_value(task) +
                  ", and the model was exported " + "for " + recipe::write_value(saved->task) +
                  "; write that, or export it again with " + "another --task");
}

}  // namespace

std::vector<RecomputeLevel> possible_levels(const architectures::CustomDims& dims) {
  std::vector<RecomputeLevel> levels{RecomputeLevel::none};
  if (has_cheap(dims) && !changed_twice(dims, RecomputeLevel::selective))
    levels.push_back(RecomputeLevel::selective);
  if (!changed_twice(dims, RecomputeLevel::full)) levels.push_back(RecomputeLevel::full);
  return levels;
}

architectures::CustomDims decide_custom(architectures::CustomOptions& o,
                                        const recipe::Recipe& recipe, const facts::Facts& facts) {
  // weights have the sizes that they were trained with
  const architectures::CustomDims* saved = nullptr;
  if (const auto& folder = facts.model_folder) {
    saved = std::get_if<architectures::CustomDims>(&folder->dims);
    if (!saved || saved->options.name != o.name)
      refuse_custom("model.type: the recipe says " + o.name + ", " + folder->path +
                    "/config.json is of a " +
                    std::string(architectures::architecture_name(folder->dims)));
  }
  architectures::CustomDims dims;
  dims.task = options::task(o);
  if (architectures::is_exported(o)) require_export(saved, dims.task);
  dims.vocab_size = decide_size(o, "vocab_size", saved ? saved->vocab_size : facts.data.vocab_size);
  dims.max_positions =
      decide_size(o, "max_positions", saved ? saved->max_positions : recipe.data.sequence_length);
  dims.num_labels = dims.task == architectures::Task::classification
                        ? decide_size(o, "num_labels", saved ? saved->num_labels : 0)
                        : 0;
  const bool has_vocab_size = o.find("vocab_size");
  // a model that reads no tokens has no vocabulary; the worker refuses one that does
  const bool may_lack = !has_vocab_size && options::has_own_fields(recipe.data.source);
  if (dims.vocab_size < 1 && !may_lack)
    refuse_custom("model.options: " + o.name + " needs vocab_size, which data.type " +
                  recipe::alternative_name(recipe.data.source) + " does not say; " +
                  (has_vocab_size ? "set model.options.vocab_size"
                                  : "give the model an option of that name"));
  if (dims.task == architectures::Task::classification && dims.num_labels < 2)
    refuse_custom("model.options: " + o.name + " needs num_labels of 2 or more for classification");
  if (recipe.data.sequence_length > dims.max_positions)
    refuse_custom("data.sequence_length (" + std::to_string(recipe.data.sequence_length) +
                  ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) +
                  ")");
  if (facts.data.vocab_size > dims.vocab_size)
    refuse_custom("model.options.vocab_size (" + std::to_string(dims.vocab_size) +
                  ") is smaller than the data's vocabulary (" +
                  std::to_string(facts.data.vocab_size) + ")");
  dims.options = o;
  if (architectures::is_exported(o)) {
    architectures::set_export(dims, facts.model_folder->path, facts.model_folder->config);
    decide_targets(dims, recipe, *facts.model_folder);
  }
  dims.shapes = facts.model_shapes;
  require_best_metric(dims, recipe.eval.best.metric);
  require_possible(dims, recipe.memory);
  require_same_buffers(dims, recipe);
  require_constant_buffers(dims, recipe.parallel.pipeline.value.value_or(1));
  return dims;
}

}  // namespace trainx::plan
