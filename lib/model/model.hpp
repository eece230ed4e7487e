// A model made from its spec.
#pragma once
#include "architectures/dims.hpp"
#include "kernels/random/initial_values.hpp"
#include "model/composed_block.hpp"
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace trainx::model {

/// One block per BlockSpec of `graph`, which is model_graph of the same dimensions.
Blocks build_blocks(const architectures::ModelDims& dims, const program::ModelGraph& graph);

struct WeightInitializer {
  /// Fills the exact weights of a group ([group.elements], gaps zero).
  std::function<void(const program::GroupSpec& group, float* exact)> fill;
  /// The seed, if `fill` is initialize_parameters: a GPU draws the same values by itself.
  std::optional<std::uint64_t> seed = {};
};
/// initialize_parameters with this seed.
WeightInitializer drawn_weights(std::uint64_t seed);
/// drawn_weights; for a model of the user's own the weights that its modules' constructors give
/// after torch::manual_seed(seed).
WeightInitializer weight_initializer(const architectures::ModelDims& dims, std::uint64_t seed);

/// Fills the exact weights of a group ([group.elements], gaps zero) as its ParameterSpecs say.
/// Normal ones are drawn with a key of (seed, name), so that they depend on nothing else; padded
/// rows are zero. The values have the same bits on every CPU and GPU.
void initialize_parameters(const program::GroupSpec& group, std::uint64_t seed, float* exact);
/// Elements of a tensor that follow one another.
struct ElementRun {
  std::int64_t first = 0, count = 0;
};
/// How those of the tensor begin.
kernels::InitialValues initial_values(const program::ParameterSpec& whole, const ElementRun& run,
                                      std::uint64_t seed);
/// Standard normal numbers that follow from the seed and the name alone.
void normal_numbers(std::uint64_t seed, std::string_view name, std::span<float> out);

}  // namespace trainx::model
