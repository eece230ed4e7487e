// Which gates a GPU computes as it casts, and that programs still mean the same.
#include "architectures/architecture.hpp"
#include "graph/fp8_options.hpp"
#include "program/check.hpp"
#include "program/plain.hpp"
#include "support/catch.hpp"
#include <string>
#include <utility>

namespace quantize_gates_test {

using namespace trainx;
using graph::Fp8Layers;
using operations::BoundOp;
using operations::Fp8Scaling;
using operations::Linear;
using operations::Quantize;
using program::Op;

namespace {

/// Of two layers, with MLPs of that gate.
architectures::ModelDims decoder(const std::string& activation) {
  return architectures::dims_from_config(
      R"({"model_type": "llama", "hidden_size": 32, "intermediate_size": 48,
          "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
          "max_position_embeddings": 8, "vocab_size": 9, "rms_norm_eps": 1e-6, "hidden_act": ")" +
          activation + "\"}",
      "config.json");
}

std::string problem_of(const program::ModelGraph& graph) {
  const program::UpdateSpec momentum{{{"m"}}};
  const program::StepProgram p = program::plain_program(graph, momentum);
  const program::Reference reference{&graph, momentum};
  return program::check_program(p, program::plan_memory(p), &reference);
}

}  // namespace

TEST_CASE("a GPU's casts compute gates, whose results are kept nowhere") {
  architectures::GraphOptions gpu = architectures::GraphOptions::on_gpu();
  gpu.passes.fp8.layers = Fp8Layers::all;
  for (const auto& [family, casts] : {std::pair{"silu", true}, std::pair{"relu", false}}) {
    INFO(family);
    const program::ModelGraph graph =
        architectures::model_graph(decoder(family), 4, 4, DType::bf16, gpu);
    CHECK(problem_of(graph).empty());
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      if (graph.blocks[b].name != "h1.mlp") continue;
      int gated = 0;
      for (const BoundOp& op : graph.composition->blocks[b]->forward)
        if (const auto* cast = std::get_if<Quantize>(&op.operation)) gated += cast->gated;
      CHECK(gated == casts);
      CHECK(graph.blocks[b].phases.at(Op::forward).launches_of(program::KernelFamily::activation) ==
            !casts);
      CHECK(
          graph.blocks[b].phases.at(Op::backward).launches_of(program::KernelFamily::activation) ==
          1);
    }
  }
}

TEST_CASE("a GPU's cast of a gradient computes that of a gate where it reads it once") {
  architectures::GraphOptions gpu = architectures::GraphOptions::on_gpu();
  gpu.passes.fp8.layers = Fp8Layers::all;
  struct Case {
    Fp8Scaling scaling;
    bool frozen, joined;
  };
  for (const Case& c : {Case{Fp8Scaling::current, false, false},
                        {Fp8Scaling::delayed, false, true},
                        {Fp8Scaling::blocks, false, true},
                        {Fp8Scaling::delayed, true, false}}) {
    CAPTURE(static_cast<int>(c.scaling), c.frozen);
    gpu.passes.fp8.scaling = c.scaling;
    gpu.passes.rules = {};
    if (c.frozen) gpu.passes.rules = {{.pattern = "*mlp*", .trained = false}};
    const program::ModelGraph graph =
        architectures::model_graph(decoder("silu"), 4, 4, DType::bf16, gpu);
    CHECK(problem_of(graph).empty());
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      const program::BlockSpec& block = graph.blocks[b];
      if (block.name != "h1.mlp") continue;
      CHECK(block.phases.at(Op::forward).launches_of(program::KernelFamily::activation) == 0);
      CHECK(block.phases.at(Op::backward).launches_of(program::KernelFamily::activation) ==
            !c.joined);
      int joined = 0;
      for (const BoundOp& op : graph.composition->blocks[b]->backward)
        if (const auto* linear = std::get_if<Linear>(&op.operation);
            linear && linear->epilogue.is_gated()) {
          ++joined;
          // the gradient of what the gate gives, a half as wide as that of the sum
          CHECK(op.outputs[Linear::y] == program::none);
        }
      CHECK(joined == c.joined);
    }
  }
}

}  // namespace quantize_gates_test
