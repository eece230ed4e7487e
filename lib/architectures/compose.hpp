#pragma once
#include "core/error.hpp"
#include "graph/builder.hpp"
#include "architectures/transformer.hpp"
#include <cstdint>
#include <string>

namespace trainx::architectures {

/// Options of a builder for a micro-batch on that machine.
graph::BuilderOptions builder_options(std::int64_t micro_batch_size, std::int64_t length,
                                      DType compute, const GraphOptions& graph_options);
/// What training adds to the computation.
template <class Dims>
void take_training(graph::BuilderOptions& options, const Dims& d) {
  options.dropout = d.dropout;
  options.attention_dropout = d.attention_dropout;
  options.label_smoothing = d.label_smoothing;
  options.z_loss = d.z_loss;
}
/// And for these dims. InternalError for sizes that do not fit together.
template <Transformer Dims>
graph::BuilderOptions builder_options(const Dims& d, std::int64_t micro_batch_size,
                                      std::int64_t length, DType compute,
                                      const GraphOptions& graph_options) {
  if (d.hidden_size % d.num_heads != 0 || length > d.max_positions)
    throw InternalError(std::string(family_of(d)) +
                        "_graph: num_heads does not divide hidden_size, or length is too long");
  graph::BuilderOptions options = builder_options(micro_batch_size, length, compute, graph_options);
  take_training(options, d);
  options.epsilon = d.layer_norm_epsilon;
  options.initializer_range = d.initializer_range;
  if constexpr (Encoder<Dims>) options.label_values = label_values(d);
  return options;
}

template <Transformer Dims>
graph::AttentionOptions attention_options(const Dims& d, operations::AttentionMask mask) {
  return {.heads = d.num_heads,
          .key_value_heads = d.num_heads,
          .head_size = d.hidden_size / d.num_heads,
          .mask = mask,
          .kind = d.attention};
}

/// All rows, as many at a time as keep a GPU busy, or as a CPU's caches hold.
graph::Head all_rows(const graph::ModelBuilder& m, std::int64_t columns);
/// Rows with a target, of which each has one with `probability`.
graph::Head rows_with_targets(const graph::ModelBuilder& m, std::int64_t columns,
                              double probability);
/// The first row of each sample, whose target is in the batch under that name.
graph::Head first_rows(const graph::ModelBuilder& m, const std::string& targets);

/// The model's blocks, rewritten by all graph passes, with what libraries allocate beside them.
program::ModelGraph compose(graph::Model model, const GraphOptions& graph_options);

}  // namespace trainx::architectures
