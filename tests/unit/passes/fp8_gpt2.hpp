#pragma once
#include "architectures/architecture.hpp"
#include "architectures/gpt2.hpp"
#include <set>
#include <string>
#include <vector>

namespace trainx::passes {

/// Two layers whose products are in fp8, in bf16; samples of four tokens, four of them. `rules`:
/// what is trained. `copies_suffice`: graph::Fp8Options.
inline program::ModelGraph fp8_gpt2(bool gpu, operations::Fp8Scaling scaling,
                                    operations::Fp8WeightCasts casts,
                                    const std::set<std::string>& left_out = {},
                                    std::vector<graph::ParameterRule> rules = {},
                                    bool copies_suffice = false) {
  architectures::GraphOptions graph_options = gpu ? architectures::GraphOptions::on_gpu()
                                                  : architectures::GraphOptions::on_cpu(1);
  graph_options.passes.fp8.layers = graph::Fp8Layers::all;
  graph_options.passes.fp8.scaling = scaling;
  graph_options.passes.fp8.weight_casts = casts;
  graph_options.passes.fp8.left_out = left_out;
  graph_options.passes.fp8.copies_suffice = copies_suffice;
  graph_options.passes.rules = std::move(rules);
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = 2,
                                                         .num_heads = 2,
                                                         .hidden_size = 16,
                                                         .intermediate_size = 32,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 4, 4, DType::bf16, graph_options);
}

}  // namespace trainx::passes
