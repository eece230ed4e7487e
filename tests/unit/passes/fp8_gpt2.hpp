#pragma once
#include "architectures/architecture.hpp"
#include "architectures/gpt2.hpp"
#include <set>
#include <string>

namespace trainx::passes {

/// Two layers whose products are in fp8, in bf16; samples of four tokens, four of them.
inline program::ModelGraph fp8_gpt2(bool gpu, graph::Fp8Scaling scaling,
                                    graph::Fp8WeightCasts casts,
                                    const std::set<std::string>& left_out = {}) {
  architectures::Machine machine = gpu ? architectures::Machine::one_gpu()
                                       : architectures::Machine(1);
  machine.fp8.layers = graph::Fp8Layers::all;
  machine.fp8.scaling = scaling;
  machine.fp8.weight_casts = casts;
  machine.fp8.left_out = left_out;
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = 2,
                                                         .num_heads = 2,
                                                         .hidden_size = 16,
                                                         .intermediate_size = 32,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 4, 4, DType::bf16, machine);
}

}  // namespace trainx::passes
