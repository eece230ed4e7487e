// Experts that ranks share beside rows that ranks share: the programs are those of one rank's
// training, whichever of both has more ranks, and a program that leaves out an instruction, or
// exchanges among other ranks, is found.
#include "program/print.hpp"
#include "support/catch.hpp"
#include "unit/plan/mixture_programs.hpp"

namespace experts_and_context_test {

using namespace mixture_programs;

namespace {

struct World {
  int ranks, context, experts;
};
constexpr World worlds[] = {{2, 2, 2}, {4, 2, 2}, {4, 2, 4}, {4, 4, 2},
                            {4, 4, 4}, {8, 2, 4}, {8, 4, 2}};

}  // namespace

TEST_CASE("ranks that share experts and rows train as one") {
  for (const std::string& family :
       {std::string("mixtral"), std::string("gpt_oss"), std::string("dots1")})
    for (const World& w : worlds)
      for (const RecomputeLevel level :
           {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::full}) {
        CAPTURE(family, w.ranks, w.context, w.experts, static_cast<int>(level));
        const program::ModelGraph graph = mixture(w.experts, family, {}, w.context);
        const StepProgram p = in_ddp(graph, mesh_of(w.ranks, w.experts, w.context), level);
        CHECK(problem_of(p, graph) == "");
        CHECK(count(p, Op::all_to_all, axes::expert) >= micro_steps * 2 * 4);
        CHECK(count(p, Op::all_to_all, axes::context) >= micro_steps * 2 * 4);
        CHECK((count(p, Op::reduce, axes::expert_replica) > 0) == (w.experts < w.ranks));
      }
}

TEST_CASE("experts and all else lie in shards where ranks share rows") {
  for (const World& w : worlds)
    for (const int shard : {2, w.ranks})
      for (const int stage : {1, 2, 3}) {
        CAPTURE(w.ranks, w.context, w.experts, shard, stage);
        const Mesh mesh = in_shards_of(mesh_of(w.ranks, w.experts, w.context), shard);
        const program::ModelGraph graph = program::divisible(
            mixture(w.experts, "mixtral", {}, w.context), mesh, program::Unit::element);
        const StepProgram p = in_shards(graph, mesh, stage);
        CHECK(problem_of(p, graph) == "");
        for (const program::Buffer& b : p.buffers) {
          if (!b.resident || b.role != program::Role::state) continue;
          const program::GroupSpec& group = graph.groups[static_cast<std::size_t>(b.index)];
          const int parts = group.parts.are_several() ? std::max(shard, w.experts) : shard;
          CHECK(b.elements * parts == group.elements);
        }
      }
}

TEST_CASE("updates in backward have the norm of experts where ranks share rows") {
  for (const World& w : worlds)
    for (const RecomputeLevel level : {RecomputeLevel::none, RecomputeLevel::full}) {
      CAPTURE(w.ranks, w.context, w.experts, static_cast<int>(level));
      const program::ModelGraph graph = mixture(w.experts, "mixtral", {}, w.context);
      const StepProgram p =
          updated_in_backward(graph, mesh_of(w.ranks, w.experts, w.context), level);
      CHECK(early_problem_of(p, graph) == "");
    }
}

TEST_CASE("each instruction of a program with experts and rows of ranks is needed") {
  for (const World& w : {World{2, 2, 2}, World{4, 2, 4}, World{4, 4, 2}}) {
    const Mesh mesh = in_shards_of(mesh_of(w.ranks, w.experts, w.context), w.ranks);
    const program::ModelGraph graph = mixture(w.experts, "mixtral", {}, w.context),
                              even = program::divisible(graph, mesh, program::Unit::element);
    for (const auto& [p, of] :
         {std::pair(in_ddp(graph, mesh_of(w.ranks, w.experts, w.context)), &graph),
          std::pair(in_shards(even, mesh, 2), &even)})
      for (std::size_t k = 0; k < p.steady.size(); ++k) {
        StepProgram without = p;
        without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
        CAPTURE(w.ranks, w.context, w.experts, k, program::name_of(p.steady[k].op));
        CHECK(problem_of(without, *of) != "");
      }
  }
}

TEST_CASE("an exchange of experts' rows, or a sum, among other ranks is found") {
  for (const World& w : {World{4, 2, 4}, World{4, 4, 2}, World{8, 2, 4}}) {
    const program::ModelGraph graph = mixture(w.experts, "mixtral", {}, w.context);
    const StepProgram p = in_ddp(graph, mesh_of(w.ranks, w.experts, w.context));
    int tried = 0;
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      if (!program::is_collective(p.steady[k].op)) continue;
      for (const AxisSet along : {axes::all, axes::expert, axes::expert_replica, axes::context,
                                  axes::batch, axes::expert - axes::context}) {
        if (p.mesh.significant(along) == p.mesh.significant(p.steady[k].along)) continue;
        CAPTURE(w.ranks, w.context, w.experts, k, program::name_of(p.steady[k].op), name_of(along));
        StepProgram among_others = p;
        among_others.steady[k].along = along;
        CHECK(problem_of(among_others, graph) != "");
        ++tried;
      }
    }
    CHECK(tried > 0);
  }
}

TEST_CASE("slots of a rank have the room of its own tokens") {
  for (const double capacity : {0.0, 1.0}) {
    architectures::GraphOptions options = architectures::GraphOptions::on_cpu(1);
    options.passes.sharing = {.ranks = 2, .capacity = capacity, .drops = true};
    const architectures::ModelDims dims =
        architectures::dims_from_config(config("mixtral"), "config.json");
    const auto alone = architectures::model_graph(dims, 2, 4, DType::f32, options);
    options.passes.context_ranks = 2;
    const auto both = architectures::model_graph(dims, 4, 4, DType::f32, options);
    int slots = 0;
    for (const program::TensorSpec& value : both.values) {
      if (!value.name.starts_with("expert_") && !value.name.starts_with("slot_")) continue;
      const auto same = std::ranges::find(alone.values, value.name, &program::TensorSpec::name);
      REQUIRE(same != alone.values.end());
      CHECK(value.dims == same->dims);
      ++slots;
    }
    CHECK(slots > 0);
  }
}

}  // namespace experts_and_context_test
