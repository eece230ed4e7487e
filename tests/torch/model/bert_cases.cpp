#include "bert_cases.hpp"
#include <algorithm>
#include <cmath>
#include <random>

namespace trainx::model::test {

const std::vector<BertCase>& bert_cases() {
  const architectures::Task mlm = architectures::Task::masked_lm,
                            cls = architectures::Task::classification;
  static const std::vector<BertCase> list{
      {"classifier of two layers",
       {.num_layers = 2,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 16,
        .vocab_size = 50,
        .task = cls,
        .num_labels = 3},
       3,
       16},
      {"classifier with padding",
       {.num_layers = 2,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 20,
        .vocab_size = 50,
        .task = cls,
        .num_labels = 3},
       4,
       16,
       {16, 3, 3, 9}},
      {"classifier with padding and dropout",
       {.num_layers = 3,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 20,
        .vocab_size = 50,
        .dropout = 0.25,
        .task = cls,
        .num_labels = 5},
       3,
       16,
       {2, 16, 1}},
      {"classifier of one sample of one token",
       {.num_layers = 1,
        .num_heads = 2,
        .hidden_size = 8,
        .intermediate_size = 24,
        .max_positions = 4,
        .vocab_size = 5,
        .task = cls,
        .num_labels = 2},
       1,
       1},
      {"masked_lm of two layers",
       {.num_layers = 2,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 16,
        .vocab_size = 50,
        .task = mlm,
        .mask_probability = 0.3},
       3,
       16},
      {"masked_lm with padding and dropout",
       {.num_layers = 2,
        .num_heads = 4,
        .hidden_size = 32,
        .intermediate_size = 128,
        .max_positions = 20,
        .vocab_size = 50,
        .dropout = 0.25,
        .task = mlm,
        .mask_probability = 0.3},
       3,
       16,
       {7, 16, 12}},
      {"masked_lm with odd sizes and dropout",
       {.num_layers = 1,
        .num_heads = 3,
        .hidden_size = 21,
        .intermediate_size = 50,
        .max_positions = 9,
        .vocab_size = 130,
        .dropout = 0.1,
        .task = mlm,
        .mask_probability = 0.5},
       2,
       7,
       {7, 5}},
      {"masked_lm without targets",
       {.num_layers = 1,
        .num_heads = 1,
        .hidden_size = 16,
        .intermediate_size = 16,
        .max_positions = 8,
        .vocab_size = 128,
        .task = mlm},
       2,
       8,
       {},
       true},
      {"masked_lm head in chunks",
       {.num_layers = 1,
        .num_heads = 2,
        .hidden_size = 8,
        .intermediate_size = 16,
        .max_positions = 64,
        .vocab_size = 50000,
        .dropout = 0.1,
        .task = mlm,
        .mask_probability = 0.9},
       2,
       50},
      {"masked_lm longer than a tile of attention",
       {.num_layers = 1,
        .num_heads = 2,
        .hidden_size = 16,
        .intermediate_size = 16,
        .max_positions = 800,
        .vocab_size = 20,
        .pad_token = -1,
        .task = mlm},
       2,
       800,
       {800, 555}},
  };
  return list;
}

PlainRun make_run(const BertCase& t, DType compute, architectures::GraphOptions graph_options) {
  const auto graph = architectures::graph_of(t.dims, t.batch, t.length, compute, graph_options);
  PlainRun run(t.dims, graph, program::plain_program(graph, {}));
  run.fill_parameters(5);
  run.fill_batch(6, t.dims.vocab_size, 1);
  run.loss_seed = 1.0 / 64;
  run.seed = 0x123456789abcdef;
  auto *tokens = run.buffer("tokens", DType::i32).data_ptr<std::int32_t>(),
       *targets = run.buffer("targets", DType::i32).data_ptr<std::int32_t>();
  auto *types = run.buffer("token_types", DType::i32).data_ptr<std::int32_t>(),
       *lengths = run.buffer("lengths", DType::i32).data_ptr<std::int32_t>();
  std::vector<std::int64_t> real;
  for (std::int64_t b = 0; b < t.batch; ++b) {
    if (!t.lengths.empty()) lengths[b] = t.lengths.at(b);
    for (std::int64_t i = b * t.length; i < (b + 1) * t.length; ++i) {
      targets[i] = -100;
      if (i % t.length < lengths[b])
        real.push_back(i);
      else
        tokens[i] = types[i] = 0;
    }
  }
  std::mt19937_64 random(7);
  std::shuffle(real.begin(), real.end(), random);
  const auto expected = static_cast<std::size_t>(std::clamp<std::int64_t>(
      std::llround(static_cast<double>(graph.tokens) * t.dims.mask_probability), 1, graph.tokens));
  if (!t.without_targets && t.dims.task == architectures::Task::masked_lm)
    for (std::size_t k = 0; k < std::min(expected, real.size()); ++k)
      targets[real[k]] = static_cast<std::int32_t>(random() % t.dims.vocab_size);
  return run;
}

BertBatch batch_of(PlainRun& run, const BertCase& t) {
  auto rows = [&](const char* name) {
    return run.buffer(name, DType::i32).view({t.batch, t.length});
  };
  BertBatch batch{rows("tokens"),
                  rows("targets"),
                  run.buffer("positions", DType::i64),
                  rows("token_types"),
                  run.buffer("lengths", DType::i32),
                  {}};
  if (t.dims.task == architectures::Task::classification)
    batch.labels = run.buffer("labels", DType::i32);
  return batch;
}

BertResult reference_of(PlainRun& run, const BertCase& t, at::ScalarType compute) {
  return reference_bert(t.dims, run.parameters("w.", run.graph.compute), batch_of(run, t), run.seed,
                        run.loss_seed * run.loss_scale(), compute);
}

}  // namespace trainx::model::test
