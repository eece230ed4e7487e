// Programs of mixtures whose experts ranks share: what their tests build and ask alike.
#pragma once
#include "architectures/architecture.hpp"
#include "passes/passes.hpp"
#include "program/check.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mixture_programs {

using namespace trainx;
namespace axes = program::axes;
using program::AxisSet;
using program::How;
using program::Mesh;
using program::Op;
using program::StepProgram;

constexpr int micro_steps = 2;

inline std::string config(const std::string& family) {
  const std::string text = R"({"model_type": ")" + family + R"(", "num_hidden_layers": 2,
      "hidden_size": 8, "intermediate_size": 6, "num_attention_heads": 4,
      "num_key_value_heads": 2, "vocab_size": 9, "max_position_embeddings": 8,
      "num_experts_per_tok": 2, "output_router_logits": true, "router_aux_loss_coef": 0.1, )";
  if (family == "gpt_oss")
    return text + R"("num_local_experts": 4, "head_dim": 4,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}})";
  if (family == "dots1")
    return text + R"("n_routed_experts": 4, "moe_intermediate_size": 6, "n_shared_experts": 1,
                     "first_k_dense_replace": 0})";
  return text + R"("num_local_experts": 4})";
}

/// Experts of so many ranks, and a batch of `context` ranks.
inline program::ModelGraph mixture(int ranks, const std::string& family = "mixtral",
                                   std::vector<graph::ParameterRule> rules = {}, int context = 1) {
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(1);
  graph_options.passes.sharing.ranks = ranks;
  graph_options.passes.context_ranks = context;
  graph_options.passes.rules = std::move(rules);
  architectures::ModelDims dims = architectures::dims_from_config(config(family), "config.json");
  return architectures::model_graph(dims, 2, 4, DType::f32, graph_options);
}

inline const program::UpdateSpec& update() {
  static const program::UpdateSpec spec{{{"m"}}, program::Master::fp32};
  return spec;
}

inline Mesh mesh_of(int ranks, int experts, int context = 1) {
  Mesh mesh(ranks, 1);
  mesh.experts = experts;
  mesh.context = context;
  return mesh;
}

inline std::string problem_of(const StepProgram& p, const program::ModelGraph& graph) {
  const program::Reference reference{&graph, update(), micro_steps};
  return program::check_program(p, program::plan_memory(p), &reference);
}

/// Of a program with updates in backward.
inline std::string early_problem_of(const StepProgram& p, const program::ModelGraph& graph,
                                    const program::UpdateSpec& spec = update()) {
  program::Reference reference{&graph, spec, micro_steps};
  reference.update_in_backward = true;
  return program::check_program(p, program::plan_memory(p), &reference);
}

inline StepProgram shared(const program::ModelGraph& graph, const Mesh& mesh,
                          RecomputeLevel level = RecomputeLevel::none,
                          const program::UpdateSpec& spec = update()) {
  auto p = passes::accumulation(program::plain_program(graph, spec), micro_steps);
  p = passes::activation_recomputation(std::move(p), graph, level);
  return passes::redistribute(std::move(p), graph, spec, mesh);
}

inline StepProgram in_ddp(const program::ModelGraph& graph, const Mesh& mesh,
                          RecomputeLevel level = RecomputeLevel::none) {
  return passes::lower_collectives(
      passes::distributed_data_parallel(shared(graph, mesh, level), {mesh, 0}), DType::f32);
}

inline StepProgram updated_in_backward(const program::ModelGraph& graph, const Mesh& mesh,
                                       RecomputeLevel level = RecomputeLevel::none,
                                       const program::UpdateSpec& spec = update()) {
  return passes::lower_collectives(passes::update_in_backward(passes::distributed_data_parallel(
                                       shared(graph, mesh, level, spec), {mesh, 0})),
                                   DType::f32);
}

inline Mesh in_shards_of(Mesh mesh, int shard) {
  mesh.shard = shard;
  return mesh;
}

inline StepProgram in_shards(const program::ModelGraph& graph, const Mesh& mesh, int stage) {
  return passes::lower_collectives(
      passes::zero(shared(graph, mesh), graph, update(), {mesh, 0}, {stage}), DType::f32);
}

inline int count(const StepProgram& p, Op op, AxisSet axis) {
  return static_cast<int>(std::ranges::count_if(
      p.steady, [&](const program::Instruction& i) { return i.op == op && i.along == axis; }));
}

}  // namespace mixture_programs
