// Balance by bias in programs: over ranks and micro-batches it is that of one rank's training, and
// a program that leaves out an instruction is found.
#include "architectures/architecture.hpp"
#include "passes/passes.hpp"
#include "program/check.hpp"
#include "program/shards.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace router_bias_test {

using namespace trainx;
using program::Op;
using program::StepProgram;

namespace {

constexpr int world = 2, micro_steps = 2;

program::ModelGraph mixture() {
  architectures::ModelDims dims = architectures::dims_from_config(
      R"({"model_type": "dots1", "num_hidden_layers": 2, "hidden_size": 8,
          "intermediate_size": 6, "num_attention_heads": 2, "num_key_value_heads": 2,
          "vocab_size": 9, "max_position_embeddings": 8, "num_experts_per_tok": 2,
          "n_routed_experts": 4, "moe_intermediate_size": 6, "n_shared_experts": 1,
          "first_k_dense_replace": 0})",
      "config.json");
  std::get<architectures::DecoderDims>(dims).experts.balance_rate = 0.001;
  return architectures::model_graph(dims, 2, 4, DType::f32, architectures::GraphOptions::on_cpu(1));
}

const program::UpdateSpec& update() {
  static const program::UpdateSpec spec{{{"m"}}, program::Master::absent};
  return spec;
}

StepProgram accumulated(const program::ModelGraph& graph) {
  return passes::accumulation(program::plain_program(graph, update()), micro_steps);
}

std::string problem_of(const StepProgram& p, const program::ModelGraph& graph) {
  const program::Reference reference{&graph, update(), micro_steps};
  return program::check_program(p, program::plan_memory(p), &reference);
}

/// Each instruction that moves biases or sums loads over ranks is needed.
void check_deletions(const StepProgram& p, const program::ModelGraph& graph) {
  int found = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    const program::Instruction& i = p.steady[k];
    const bool sums_loads =
        i.op == Op::reduce && std::ranges::any_of(i.uses, [&](const program::Use& u) {
          return p.buffers[static_cast<std::size_t>(u.buffer)].name == program::expert_loads;
        });
    if (i.op != Op::balance && !sums_loads) continue;
    ++found;
    StepProgram without = p;
    without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
    CAPTURE(k);
    CHECK(problem_of(without, graph) != "");
  }
  CHECK(found == 3);
}

}  // namespace

TEST_CASE("ranks that keep everything move biases by the loads of all") {
  const program::ModelGraph graph = mixture();
  const StepProgram p = passes::lower_collectives(
      passes::distributed_data_parallel(accumulated(graph), {{world, 1}}), DType::f32);
  CHECK(problem_of(p, graph) == "");
  check_deletions(p, graph);
}

TEST_CASE("ranks that keep shards move the biases in their own") {
  const program::ModelGraph graph = program::divisible(mixture(), {world, world}, update().unit);
  const int stage = GENERATE(1, 2, 3);
  CAPTURE(stage);
  const StepProgram p = passes::lower_collectives(
      passes::zero(accumulated(graph), graph, update(), {{world, world}}, {stage}), DType::f32);
  CHECK(problem_of(p, graph) == "");
  check_deletions(p, graph);
}

TEST_CASE("where one rank keeps the model it moves the biases") {
  const program::ModelGraph graph = mixture();
  std::vector<StepProgram> programs;
  std::vector<program::Placement> at;
  for (int rank = 0; rank < world; ++rank) {
    programs.push_back(passes::lower_collectives(
        passes::data_parallel(accumulated(graph), {{world, 1}}, rank), DType::f32));
    at.push_back(program::plan_memory(programs.back()));
  }
  const program::Reference reference{&graph, update(), micro_steps};
  CHECK(program::check_program({{&programs[0], &at[0]}, {&programs[1], &at[1]}}, &reference) == "");
  CHECK(std::ranges::count(programs[1].steady, Op::balance, &program::Instruction::op) == 0);
}

TEST_CASE("biases move where their weights are kept on the host") {
  const program::ModelGraph graph = mixture();
  CHECK(problem_of(passes::parameter_offload(accumulated(graph)), graph) == "");
}

TEST_CASE("biases move once a step where updates come in backward") {
  const program::ModelGraph graph = mixture();
  const StepProgram p = passes::update_in_backward(accumulated(graph));
  program::Reference reference{&graph, update(), micro_steps};
  reference.update_in_backward = true;
  CHECK(program::check_program(p, program::plan_memory(p), &reference) == "");
}

}  // namespace router_bias_test
