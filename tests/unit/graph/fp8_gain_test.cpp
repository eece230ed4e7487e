// Which products stay out of fp8 since their casts take longer than fp8 saves.
#include "architectures/architecture.hpp"
#include "graph/fp8_gain.hpp"
#include "graph/fp8_options.hpp"
#include "graph/to_blocks.hpp"
#include "program/check.hpp"
#include "program/plain.hpp"
#include "support/catch.hpp"
#include <string>
#include <utility>
#include <vector>

namespace fp8_gain_test {

using namespace trainx;
using operations::Fp8Scaling;

namespace {

constexpr std::int64_t tokens = 16;

/// 1e9 FLOPs a second, twice as many in fp8; copies take no time but that of each cast.
graph::Fp8Costs costs(double cast_s, std::int64_t micro_steps = 1) {
  graph::Fp8Costs out{.rates = {}, .tokens = tokens, .micro_steps = micro_steps};
  out.rates.gemm_flops_per_s = 1e9;
  out.rates.memory_bytes_per_s = 1e30;
  out.rates.fp8_speedup = 2;
  out.rates.fp8_cast_s = cast_s;
  return out;
}

program::ModelGraph gpt2(const graph::Fp8Costs& of, Fp8Scaling scaling,
                         std::vector<graph::ParameterRule> rules = {}) {
  architectures::GraphOptions gpu = architectures::GraphOptions::on_gpu();
  gpu.passes.fp8.layers = graph::Fp8Layers::all;
  gpu.passes.fp8.scaling = scaling;
  gpu.passes.fp8.costs = of;
  gpu.passes.rules = std::move(rules);
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = 2,
                                                         .num_heads = 2,
                                                         .hidden_size = 64,
                                                         .intermediate_size = 256,
                                                         .max_positions = 8,
                                                         .vocab_size = 16,
                                                         .dropout = 0},
                                 4, 4, DType::bf16, gpu);
}

/// Of the second layer.
std::string without_gain(const graph::Fp8Costs& of, Fp8Scaling scaling = Fp8Scaling::delayed,
                         std::vector<graph::ParameterRule> rules = {}) {
  const program::ModelGraph graph = gpt2(of, scaling, std::move(rules));
  const program::UpdateSpec momentum{{{"m"}}};
  const program::StepProgram p = program::plain_program(graph, momentum);
  const program::Reference reference{&graph, momentum};
  CHECK(program::check_program(p, program::plan_memory(p), &reference).empty());
  std::string out;
  for (const graph::Fp8Product& product : graph.composition->fp8_products) {
    CHECK(product.left_out == product.gains_nothing);
    if (product.gains_nothing && product.weight.starts_with("h.1.")) {
      const std::string name = product.weight.substr(4);
      out += name.substr(0, name.rfind('.')) + " ";
    }
  }
  return out;
}

}  // namespace

// Three products of 2 n in out FLOPs save half of their time: 0.197 ms of attn.c_proj (64 x 64),
// 0.59 of c_attn (192 x 64), 0.786 of each of the MLP's (256 x 64). Each casts its input, its
// weight and its gradient.
TEST_CASE("a product is in fp8 if that saves more than its casts take") {
  CHECK(without_gain(costs(0)).empty());
  CHECK(without_gain(costs(0.06e-3)).empty());
  CHECK(without_gain(costs(0.07e-3)) == "attn.c_proj ");
  CHECK(without_gain(costs(0.19e-3)) == "attn.c_proj ");
  CHECK(without_gain(costs(0.20e-3)) == "attn.c_attn attn.c_proj ");
  CHECK(without_gain(costs(0.26e-3)) == "attn.c_attn attn.c_proj ");
  CHECK(without_gain(costs(0.27e-3)) == "attn.c_attn attn.c_proj mlp.c_fc mlp.c_proj ");
}

TEST_CASE("micro-steps share the casts of weights") {
  CHECK(without_gain(costs(0.09e-3, 1000)).empty());
  CHECK(without_gain(costs(0.10e-3, 1000)) == "attn.c_proj ");
}

// Of attn.c_proj two products are left, which save 0.131 ms in two casts.
TEST_CASE("casts of weights that are not trained cost nothing") {
  const std::vector<graph::ParameterRule> frozen{{.pattern = "h.1.*.weight", .trained = false}};
  CHECK(without_gain(costs(0.06e-3), Fp8Scaling::delayed, frozen).empty());
  CHECK(without_gain(costs(0.07e-3), Fp8Scaling::delayed, frozen) == "attn.c_proj ");
  CHECK(without_gain(costs(0.06e-3, 1000), Fp8Scaling::delayed, frozen).empty());
  CHECK(without_gain(costs(0.07e-3, 1000), Fp8Scaling::delayed, frozen) == "attn.c_proj ");
}

TEST_CASE("casts that find their scale read twice") {
  graph::Fp8Costs of = costs(0);
  // values of 64 x 64 at 16 tokens: input and gradient 4 bytes an element once, the weight too
  of.rates.memory_bytes_per_s = (2 * tokens * 64 + 64 * 64) * 4 / 0.19e-3;
  CHECK(without_gain(of).empty());
  CHECK(without_gain(of, Fp8Scaling::current).find("attn.c_proj") != std::string::npos);
}

TEST_CASE("a model that gains nothing has no product in fp8, and counts none") {
  const program::ModelGraph graph = gpt2(costs(1), Fp8Scaling::delayed);
  for (const program::BlockSpec& block : graph.blocks)
    for (const auto& [op, phase] : block.phases)
      for (const program::Gemm& g : phase.gemms) CHECK(!g.fp8);
  for (const program::ScalarSpec& s : graph.scalars) CHECK(s.name != program::fp8_counts);
}

}  // namespace fp8_gain_test
