#include "plan/model_dims.hpp"
#include "plan/custom_dims.hpp"
#include "plan/limits.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, sentence);
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

// Options and Dims of one architecture; the members named here have the same names in all.
template <class Options>
auto decide(Options& o, const recipe::Recipe& recipe, const facts::Facts& facts) {
  auto dims = sizes(o).front().second;
  using Dims = decltype(dims);
  for (const auto& [name, size] : sizes(o))
    if (recipe.model.size == name) dims = size;
  const auto* folder = facts.model_folder ? &*facts.model_folder : nullptr;
  if (folder) {
    if (architectures::architecture_name(folder->dims) != o.name)
      refuse("model.type: the recipe says " + std::string(o.name) + ", " + folder->path +
             "/config.json is of a " + std::string(architectures::architecture_name(folder->dims)));
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
    if (folder && d.written && *d.written != d.decided)
      refuse(std::string("model.options.") + d.key + ": the recipe says " +
             std::to_string(*d.written) + ", " + folder->path + "/config.json says " +
             std::to_string(d.decided) + "; leave it out of the recipe");
    if (d.written)
      d.decided = *d.written;
    else
      d.written = d.decided;
    if (d.decided < 1 || d.decided > largest_dimension)
      refuse(std::string("model.options.") + d.key + " (" + with_commas(d.decided) +
             ") must be from 1 to " + with_commas(largest_dimension));
  }
  take_settings(o, dims);
  dims.attention = recipe.model.attention;
  if constexpr (requires { dims.longest_target; }) {
    dims.longest_source = recipe.data.sequence_length;
    dims.longest_target = recipe::target_length(recipe.data);
    if (dims.longest_target > dims.max_positions)
      refuse("data.target_length (" + std::to_string(dims.longest_target) +
             ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) + ")");
    if (options::packs_documents(recipe.data.source))
      refuse("data.packed keeps documents of a row apart, which " + dims.family +
             " cannot: leave it out, and give a pair a line");
  } else if (recipe.data.target_length) {
    refuse("data.target_length can have no effect with " + std::string(o.name) +
           ", whose targets are the tokens' own text: leave it out");
  }
  if constexpr (requires { dims.packed; })
    dims.packed = options::packs_documents(recipe.data.source);
  if constexpr (requires { dims.num_key_value_heads; }) {
    if (dims.num_heads % dims.num_key_value_heads != 0)
      refuse("model.options.num_heads (" + std::to_string(dims.num_heads) +
             ") must be a multiple of num_key_value_heads (" +
             std::to_string(dims.num_key_value_heads) + ")");
  } else if (!has_free_heads(dims) && dims.hidden_size % dims.num_heads != 0)
    refuse("model.options.hidden_size (" + std::to_string(dims.hidden_size) +
           ") must be a multiple of num_heads (" + std::to_string(dims.num_heads) + ")");
  if (recipe.data.sequence_length > dims.max_positions)
    refuse("data.sequence_length (" + std::to_string(recipe.data.sequence_length) +
           ") exceeds the model's max_positions (" + std::to_string(dims.max_positions) + ")" +
           remedy_of_positions(dims));
  if (facts.data.vocab_size > dims.vocab_size)
    refuse("model.options.vocab_size (" + std::to_string(dims.vocab_size) +
           ") is smaller than the data's vocabulary (" + std::to_string(facts.data.vocab_size) +
           ")");
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
