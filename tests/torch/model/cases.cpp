#include "cases.hpp"

namespace trainx::model::test {

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      {"two layers",
       {.num_layers = 2,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 16,
        .vocab_size = 50},
       3,
       16},
      {"dropout",
       {.num_layers = 2,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 20,
        .vocab_size = 50,
        .dropout = 0.25},
       3,
       16},
      {"one sample of one token",
       {.num_layers = 1,
        .num_heads = 2,
        .hidden_size = 8,
        .intermediate_size = 24,
        .max_positions = 4,
        .vocab_size = 5},
       1,
       1,
       0},
      {"odd sizes with dropout",
       {.num_layers = 1,
        .num_heads = 3,
        .hidden_size = 21,
        .intermediate_size = 50,
        .max_positions = 9,
        .vocab_size = 130,
        .dropout = 0.1},
       2,
       7},
      {"unpadded vocabulary",
       {.num_layers = 1,
        .num_heads = 1,
        .hidden_size = 16,
        .intermediate_size = 16,
        .max_positions = 8,
        .vocab_size = 128},
       2,
       8,
       0},
      {"no targets at all",
       {.num_layers = 1,
        .num_heads = 1,
        .hidden_size = 16,
        .intermediate_size = 16,
        .max_positions = 8,
        .vocab_size = 12},
       1,
       8,
       1.1},
      {"head in chunks",
       {.num_layers = 1,
        .num_heads = 2,
        .hidden_size = 8,
        .intermediate_size = 16,
        .max_positions = 64,
        .vocab_size = 50000,
        .dropout = 0.1},
       2,
       50},
      {"longer than a tile of attention",
       {.num_layers = 1,
        .num_heads = 2,
        .hidden_size = 16,
        .intermediate_size = 16,
        .max_positions = 800,
        .vocab_size = 20},
       1,
       800},
  };
  return list;
}

PlainRun make_run(const Case& t, const program::ModelGraph& graph) {
  PlainRun run(t.dims, graph, program::plain_program(graph, {}));
  run.fill_parameters(5);
  run.fill_batch(6, t.dims.vocab_size, t.without_target);
  run.loss_seed = 1.0 / 64;
  run.seed = 0x123456789abcdef;
  return run;
}

PlainRun make_run(const Case& t, DType compute) {
  return make_run(t, architectures::graph_of(t.dims, t.batch, t.length, compute));
}

ReferenceResult reference_of(PlainRun& run, const Case& t, at::ScalarType compute) {
  const ReferenceBatch batch{run.buffer("tokens", DType::i32).view({t.batch, t.length}),
                             run.buffer("targets", DType::i32).view({t.batch, t.length}),
                             run.buffer("positions", DType::i64)};
  return reference_gpt2(t.dims, run.parameters("w.", run.graph.compute), batch, run.seed,
                        run.loss_seed * run.loss_scale(), compute);
}

}  // namespace trainx::model::test
