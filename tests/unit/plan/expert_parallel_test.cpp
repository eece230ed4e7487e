// Experts that ranks share, in programs: over ranks, micro-batches and modes they are those of one
// rank's training, and a program that leaves out an instruction, or exchanges something else, is
// found.
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include "passes/passes.hpp"
#include "program/check.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <map>

namespace expert_parallel_test {

using namespace trainx;
using program::Axis;
using program::How;
using program::Mesh;
using program::Op;
using program::StepProgram;

namespace {

constexpr int micro_steps = 2;

std::string config(const std::string& family) {
  const std::string text = R"({"model_type": ")" + family + R"(", "num_hidden_layers": 2,
      "hidden_size": 8, "intermediate_size": 6, "num_attention_heads": 2,
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

program::ModelGraph mixture(int ranks, const std::string& family = "mixtral") {
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(1);
  graph_options.passes.sharing.ranks = ranks;
  architectures::ModelDims dims = architectures::dims_from_config(config(family), "config.json");
  return architectures::model_graph(dims, 2, 4, DType::f32, graph_options);
}

const program::UpdateSpec& update() {
  static const program::UpdateSpec spec{{{"m"}}, program::Master::fp32};
  return spec;
}

Mesh mesh_of(int ranks, int experts) {
  Mesh mesh(ranks, 1);
  mesh.experts = experts;
  return mesh;
}

std::string problem_of(const StepProgram& p, const program::ModelGraph& graph) {
  const program::Reference reference{&graph, update(), micro_steps};
  return program::check_program(p, program::plan_memory(p), &reference);
}

StepProgram shared(const program::ModelGraph& graph, const Mesh& mesh,
                   RecomputeLevel level = RecomputeLevel::none) {
  auto p = passes::accumulation(program::plain_program(graph, update()), micro_steps);
  p = passes::activation_recomputation(std::move(p), graph, level);
  return passes::expert_parallel(std::move(p), graph, update(), mesh);
}

StepProgram in_ddp(const program::ModelGraph& graph, const Mesh& mesh,
                   RecomputeLevel level = RecomputeLevel::none) {
  return passes::lower_collectives(
      passes::distributed_data_parallel(shared(graph, mesh, level), {mesh, 0}), DType::f32);
}

StepProgram in_shards(const program::ModelGraph& graph, Mesh mesh, int stage) {
  mesh.shard = mesh.data;
  return passes::lower_collectives(
      passes::zero(shared(graph, mesh), graph, update(), {mesh, 0}, {stage}), DType::f32);
}

int count(const StepProgram& p, Op op, Axis axis) {
  return static_cast<int>(std::ranges::count_if(
      p.steady, [&](const program::Instruction& i) { return i.op == op && i.axis == axis; }));
}

}  // namespace

TEST_CASE("without other ranks the blocks of experts mean what they mean among them") {
  const program::ModelGraph graph = mixture(2);
  const auto p = passes::accumulation(program::plain_program(graph, update()), micro_steps);
  CHECK(problem_of(p, graph) == "");
}

TEST_CASE("ranks that share experts train as one") {
  for (const std::string& family :
       {std::string("mixtral"), std::string("gpt_oss"), std::string("dots1")})
    for (const auto& [ranks, experts] : {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}})
      for (const RecomputeLevel level :
           {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::full}) {
        CAPTURE(family, ranks, experts, static_cast<int>(level));
        const program::ModelGraph graph = mixture(experts, family);
        const StepProgram p = in_ddp(graph, mesh_of(ranks, experts), level);
        CHECK(problem_of(p, graph) == "");
        // there and back, in forward and in backward
        CHECK(count(p, Op::all_to_all, Axis::expert) >= micro_steps * 2 * 4);
        CHECK((count(p, Op::reduce, Axis::expert_replica) > 0) == (experts < ranks));
      }
}

TEST_CASE("all else lies in shards, experts with the ranks that have them") {
  for (const auto& [ranks, experts] : {std::pair{2, 2}, std::pair{4, 2}})
    for (const int stage : {1, 2, 3}) {
      CAPTURE(ranks, experts, stage);
      const program::ModelGraph graph =
          program::divisible(mixture(experts), ranks, program::Unit::element);
      CHECK(problem_of(in_shards(graph, mesh_of(ranks, experts), stage), graph) == "");
    }
}

TEST_CASE("each instruction of a program with shared experts is needed") {
  const program::ModelGraph graph = mixture(2);
  const program::ModelGraph even = program::divisible(graph, 4, program::Unit::element);
  for (const auto& [p, of] : {std::pair(in_ddp(graph, mesh_of(4, 2)), &graph),
                              std::pair(in_ddp(graph, mesh_of(2, 2), RecomputeLevel::full), &graph),
                              std::pair(in_shards(even, mesh_of(4, 2), 2), &even)})
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      StepProgram without = p;
      without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
      CAPTURE(k, program::name_of(p.steady[k].op));
      CHECK(problem_of(without, *of) != "");
    }
}

TEST_CASE("an exchange of other slots, or among other ranks, is found") {
  const program::ModelGraph graph = mixture(2);
  const StepProgram p = in_ddp(graph, mesh_of(4, 2));
  int exchanges = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    const program::Instruction& i = p.steady[k];
    CAPTURE(k, program::name_of(i.op));
    if (i.op == Op::all_to_all) {
      ++exchanges;
      StepProgram own = p;  // what a rank has for others stays with it
      own.steady.erase(own.steady.begin() + static_cast<std::ptrdiff_t>(k));
      for (std::size_t thing = 0; thing + 1 < i.uses.size(); thing += 2) {
        program::Instruction copy{.op = Op::copy, .micro = i.micro};
        copy.uses = {
            program::whole(p, i.uses[thing].buffer, How::read, program::CopySlot::from),
            program::whole(p, i.uses[thing + 1].buffer, How::overwrite, program::CopySlot::to)};
        own.steady.insert(own.steady.begin() + static_cast<std::ptrdiff_t>(k + thing / 2),
                          std::move(copy));
      }
      CHECK(problem_of(own, graph) != "");
    }
    if (!program::is_collective(i.op)) continue;
    for (const Axis axis : {Axis::data, Axis::expert, Axis::expert_replica}) {
      if (axis == i.axis) continue;
      StepProgram among_others = p;
      among_others.steady[k].axis = axis;
      CHECK(problem_of(among_others, graph) != "");
    }
  }
  CHECK(exchanges == micro_steps * 2 * 4);
}

TEST_CASE("a rank has as many rows of each tensor of experts, or whole tensors") {
  for (const std::string& family : {std::string("mixtral"), std::string("gpt_oss")}) {
    const program::ModelGraph graph = mixture(2, family), alone = mixture(1, family);
    std::map<std::string, std::int64_t> elements, whole;
    int groups = 0;
    for (const program::GroupSpec& group : graph.groups) {
      if (group.parts == 1) continue;
      ++groups;
      REQUIRE(group.parts == 2);
      const program::GroupSpec first = program::part_of(group, 0),
                               second = program::part_of(group, 1);
      REQUIRE(first.parameters.size() == second.parameters.size());
      REQUIRE(first.elements * 2 == group.elements);
      for (std::size_t k = 0; k < first.parameters.size(); ++k) {
        CHECK(first.parameters[k].offset == second.parameters[k].offset);
        CHECK(first.parameters[k].dims == second.parameters[k].dims);
        for (const program::GroupSpec* part : {&first, &second}) {
          const program::ParameterSpec& p = part->parameters[k];
          CHECK(p.offset + p.elements() <= part->elements);
          CHECK(p.first == elements[p.name]);
          elements[p.name] += p.elements();
        }
      }
    }
    CHECK(groups == 2);
    for (const program::GroupSpec& group : alone.groups)
      for (const program::ParameterSpec& p : group.parameters)
        if (elements.contains(p.name)) whole[p.name] = p.elements();
    CHECK(elements == whole);
  }
}

TEST_CASE("a slot has the room that is asked for, and never more than choices there can be") {
  graph::ExpertSharing sharing{.ranks = 4};
  CHECK(sharing.choices(100, 2, 8) == 200);  // two of its experts for each token
  CHECK(sharing.choices(100, 3, 8) == 200);  // a rank has no third one
  CHECK(sharing.rows(100, 3, 8) == 100);     // a token has one row, whatever it chose
  sharing.capacity = 1;
  CHECK(sharing.choices(100, 2, 8) == 50);
  CHECK(sharing.rows(100, 2, 8) == 50);
  sharing.capacity = 1.25;
  CHECK(sharing.choices(100, 2, 8) == 63);
  sharing.capacity = 3;
  CHECK(sharing.choices(100, 2, 8) == 150);
  CHECK(sharing.rows(100, 2, 8) == 100);
  sharing.capacity = 100;
  CHECK(sharing.choices(100, 2, 8) == 200);
  sharing.capacity = 0.001;
  CHECK(sharing.choices(1, 1, 8) == 1);
  CHECK(sharing.rows(1, 1, 8) == 1);
}

}  // namespace expert_parallel_test
