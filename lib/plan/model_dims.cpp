#include "plan/model_dims.hpp"
#include "architectures/encoder_task.hpp"
#include "plan/custom_dims.hpp"
#include "plan/limits.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

[[noreturn]] void refuse_dims(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, sentence);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// Of rows that are too long, the end of a sentence.
template <class Dims>
std::string remedy_of_positions([[maybe_unused]] const Dims& d) {
  if constexpr (requires { d.ropes; })
    if (d.ropes.size() == 1 && d.ropes.front().kind == architectures::Rope::Kind::plain)
      return "; write model.options.rope_scaling: yarn to stretch them";
  return "";
}

/// Do heads have a size that does not follow from hidden_size?
template <class Dims>
bool has_free_heads(const Dims& d) {
  if constexpr (requires { d.num_decoder_heads; }) return d.head_size > 0;
  return false;
}

/// Masks can be drawn, or the data says which tokens are to be found.
template <class Dims>
void check_masking(const Dims& dims, const facts::Facts& facts) {
  if (dims.task != architectures::Task::masked_lm || !facts.data.train_present ||
      facts.data.gives_targets)
    return;
  const char* missing = dims.mask_token < 0           ? "mask_token"
                        : dims.special_tokens.empty() ? "special_tokens"
                                                      : nullptr;
  if (!missing) return;
  const std::string known = facts.masking
                                ? facts.masking->tokenizer + " names none"
                                : "neither the data nor model.init_from names a tokenizer";
  refuse_dims(
      "model.options." + std::string(missing) + ": " + known +
      ", so its ids are not known: set mask_token and special_tokens to those of the vocabulary, "
      "or make the data with `trainx data tokenize`");
}

bool names_classes(architectures::Task task, const facts::Facts& facts) {
  return architectures::has_labels(task) && !facts.data.label_names.empty();
}

/// The data's names of classes become the model's.
template <class Dims>
void take_class_names(Dims& dims, const facts::Facts& facts) {
  const auto& names = facts.data.label_names;
  if (std::ssize(names) != dims.num_labels)
    refuse_dims("model.options.num_labels (" + std::to_string(dims.num_labels) +
                ") is not the number of classes that the data names (" +
                std::to_string(names.size()) + "): leave it out");
  if (dims.labels != names && std::ranges::is_permutation(dims.labels, names))
    refuse_dims("the data's classes are in another order than those of " +
                facts.model_folder->path + "/config.json: tokenize it again with --label-names " +
                joined(dims.labels));
  dims.labels = names;
}

// Options and Dims of one architecture; the members named here have the same names in all.
template <class Options>
auto decide(Options& o, const recipe::Recipe& recipe, const facts::Facts& facts) {
  auto dims = architectures::sizes(o).front().second;
  using Dims = decltype(dims);
  for (const auto& [name, size] : architectures::sizes(o))
    if (recipe.model.size == name) dims = size;
  const auto* folder = facts.model_folder ? &*facts.model_folder : nullptr;
  if (folder) {
    if (architectures::architecture_name(folder->dims) != o.name)
      refuse_dims("model.type: the recipe says " + std::string(o.name) + ", " + folder->path +
                  "/config.json is of a " +
                  std::string(architectures::architecture_name(folder->dims)));
    dims = std::get<Dims>(folder->dims);
    if constexpr (requires { o.rope_scaling; })
      stretch_positions(o, dims, recipe.data.sequence_length);
  } else {
    // an option, for a decoder that follows its encoder in it
    if (o.hidden_size && !o.intermediate_size)
      o.intermediate_size = 4 * std::min(*o.hidden_size, largest_dimension);
    if (!o.vocab_size && facts.data.vocab_size > 0) dims.vocab_size = facts.data.vocab_size;
    if (!o.max_positions && !recipe.model.size && recipe.data.sequence_length > dims.max_positions)
      dims.max_positions = recipe.data.sequence_length;
  }
  for (const architectures::Dimension& d : dimensions(o, dims)) {
    // the vocabulary of a folder may grow: state/new_tokens.hpp
    const bool grows = d.key == std::string_view("vocab_size") && d.written > d.decided;
    if (folder && d.written && *d.written != d.decided && !grows)
      refuse_dims(std::string("model.options.") + d.key + ": the recipe says " +
                  std::to_string(*d.written) + ", " + folder->path + "/config.json says " +
                  std::to_string(d.decided) + "; leave it out of the recipe");
    if (d.written)
      d.decided = *d.written;
    else
      d.written = d.decided;
    if (d.decided < 1 || d.decided > largest_dimension)
      refuse_dims(std::string("model.options.") + d.key + " (" + with_commas(d.decided) +
                  ") must be from 1 to " + with_commas(largest_dimension));
  }
  if constexpr (requires { dims.mask_token; })
    if (facts.masking) {
      dims.mask_token = facts.masking->mask_token;
      dims.special_tokens = facts.masking->special_tokens;
    }
  constexpr bool has_classes = requires {
    dims.labels;
    o.num_labels;
  };
  if constexpr (has_classes)
    if (names_classes(o.task, facts) && !o.num_labels)
      o.num_labels = std::ssize(facts.data.label_names);
  take_settings(o, dims);
  if constexpr (requires { dims.mask_token; }) check_masking(dims, facts);
  if constexpr (has_classes)
    if (names_classes(o.task, facts)) take_class_names(dims, facts);
  dims.attention = recipe.model.attention;
  if constexpr (requires { dims.longest_target; }) {
    dims.longest_source = recipe.data.sequence_length;
    dims.longest_target = recipe::target_length(recipe.data);
    if (dims.longest_target > dims.max_positions)
      refuse_dims("data.target_length (" + std::to_string(dims.longest_target) +
                  ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) +
                  ")");
    if (options::packs_documents(recipe.data.source))
      refuse_dims("data.packed keeps documents of a row apart, which " + dims.family +
                  " cannot: leave it out, and give a pair a line");
  } else if (recipe.data.target_length) {
    refuse_dims("data.target_length can have no effect with " + std::string(o.name) +
                ", whose targets are the tokens' own text: leave it out");
  }
  if constexpr (requires { dims.packed; })
    dims.packed = options::packs_documents(recipe.data.source);
  if constexpr (requires { dims.num_key_value_heads; }) {
    if (dims.num_heads % dims.num_key_value_heads != 0)
      refuse_dims("model.options.num_heads (" + std::to_string(dims.num_heads) +
                  ") must be a multiple of num_key_value_heads (" +
                  std::to_string(dims.num_key_value_heads) + ")");
  } else if (!has_free_heads(dims) && dims.hidden_size % dims.num_heads != 0)
    refuse_dims("model.options.hidden_size (" + std::to_string(dims.hidden_size) +
                ") must be a multiple of num_heads (" + std::to_string(dims.num_heads) + ")");
  if (recipe.data.sequence_length > dims.max_positions)
    refuse_dims("data.sequence_length (" + std::to_string(recipe.data.sequence_length) +
                ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) + ")" +
                remedy_of_positions(dims));
  if (facts.data.vocab_size > dims.vocab_size)
    refuse_dims("model.options.vocab_size (" + std::to_string(dims.vocab_size) +
                ") is smaller than the data's vocabulary (" +
                std::to_string(facts.data.vocab_size) + ")");
  return dims;
}

architectures::CustomDims decide(architectures::CustomOptions& o, const recipe::Recipe& recipe,
                                 const facts::Facts& facts) {
  return decide_custom(o, recipe, facts);
}

}  // namespace

architectures::ModelDims plan_model_dims(recipe::Recipe& recipe, const facts::Facts& facts) {
  return std::visit(
      [&](auto& options) -> architectures::ModelDims { return decide(options, recipe, facts); },
      recipe.model.options);
}

}  // namespace trainx::plan
