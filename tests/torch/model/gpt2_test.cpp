// The explicit blocks against autograd: loss, and every gradient of the whole model.
#include "plain_run.hpp"
#include "reference_gpt2.hpp"
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include "support/catch.hpp"

using namespace trainx;
using model::test::PlainRun;

namespace {

struct Case {
  const char* name;
  spec::Gpt2Dims dims;
  std::int64_t batch, length;
  double without_target = 0.2;
};

const Case cases[] = {
    {"two layers", {.num_layers = 2, .num_heads = 4, .hidden_size = 32, .intermediate_size = 128, .max_positions = 16, .vocab_size = 50}, 3, 16},
    {"dropout", {.num_layers = 2, .num_heads = 4, .hidden_size = 32, .intermediate_size = 128, .max_positions = 20, .vocab_size = 50, .dropout = 0.25}, 3, 16},
    {"one sample of one token", {.num_layers = 1, .num_heads = 2, .hidden_size = 8, .intermediate_size = 24, .max_positions = 4, .vocab_size = 5}, 1, 1, 0},
    {"odd sizes with dropout", {.num_layers = 1, .num_heads = 3, .hidden_size = 21, .intermediate_size = 50, .max_positions = 9, .vocab_size = 130, .dropout = 0.1}, 2, 7},
    {"unpadded vocabulary", {.num_layers = 1, .num_heads = 1, .hidden_size = 16, .intermediate_size = 16, .max_positions = 8, .vocab_size = 128}, 2, 8, 0},
    {"no targets at all", {.num_layers = 1, .num_heads = 1, .hidden_size = 16, .intermediate_size = 16, .max_positions = 8, .vocab_size = 12}, 1, 8, 1.1},
    {"head in chunks", {.num_layers = 1, .num_heads = 2, .hidden_size = 8, .intermediate_size = 16, .max_positions = 64, .vocab_size = 50000, .dropout = 0.1}, 2, 50},
    {"longer than a tile of attention", {.num_layers = 1, .num_heads = 2, .hidden_size = 16, .intermediate_size = 16, .max_positions = 800, .vocab_size = 20}, 1, 800},
};

PlainRun make_run(const Case& t, DType compute) {
  const auto graph = spec::gpt2_graph(t.dims, t.batch, t.length, compute);
  PlainRun run(t.dims, graph, program::plain_program(graph, {}));
  run.fill_parameters(5);
  run.fill_batch(6, t.dims.vocab_size, t.without_target);
  run.loss_seed = 1.0 / 64;
  run.seed = 0x123456789abcdef;
  return run;
}

model::test::ReferenceResult reference_of(PlainRun& run, const Case& t) {
  return model::test::reference_gpt2(t.dims, run.parameters("w.", run.graph.compute),
                                     {run.buffer("tokens", DType::i32).view({t.batch, t.length}), run.buffer("targets", DType::i32).view({t.batch, t.length}), run.buffer("positions", DType::i64)},
                                     run.seed, run.loss_seed);
}

void compare(PlainRun& run, const model::test::ReferenceResult& want, double tolerance) {
  CHECK(std::abs(run.buffer("loss_sum", DType::f64).item<double>() - want.loss_sum) <= tolerance * std::abs(want.loss_sum));
  CHECK(run.buffer("target_count", DType::f64).item<double>() == want.target_count);
  for (const auto& [name, got] : run.parameters("g.", DType::f32)) {
    INFO(name << ", largest gradient " << want.gradients.at(name).abs().max().item<double>());
    CHECK(model::test::relative_error(got, want.gradients.at(name)) <= tolerance);
  }
}

}  // namespace

TEST_CASE("loss and all gradients equal autograd's in fp32") {
  const Case& t = GENERATE(from_range(std::begin(cases), std::end(cases)));
  INFO(t.name);
  PlainRun run = make_run(t, DType::f32);
  run.run();
  compare(run, reference_of(run, t), 1e-5);
}
