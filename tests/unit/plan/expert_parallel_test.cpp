// Experts that ranks share, in programs: over ranks, micro-batches and modes they are those of one
// rank's training, and a program that leaves out an instruction, or exchanges something else, is
// found.
#include "program/print.hpp"
#include "support/catch.hpp"
#include "unit/plan/mixture_programs.hpp"
#include <map>
#include <set>

namespace expert_parallel_test {

using namespace mixture_programs;

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
        CHECK(count(p, Op::all_to_all, axes::expert) >= micro_steps * 2 * 4);
        CHECK((count(p, Op::reduce, axes::expert_replica) > 0) == (experts < ranks));
      }
}

TEST_CASE("updates in backward have the norm of all ranks' experts") {
  program::UpdateSpec of_tensors = update();
  of_tensors.unit = program::Unit::tensor;
  for (int round = 0; round < 2; ++round)
    of_tensors.sums.push_back([](const program::ParameterSpec&) { return std::int64_t{1}; });
  const std::vector<graph::ParameterRule> none_frozen,
      experts_rest{{.pattern = "*experts*", .trained = false}},
      head_rests{{.pattern = "lm_head.weight", .trained = false},
                 {.pattern = "model.norm.weight", .trained = false}},
      experts_alone{{.pattern = "*", .trained = false}, {.pattern = "*experts*", .trained = true}};
  for (const std::string& family : {std::string("mixtral"), std::string("dots1")})
    for (const auto& rules : {none_frozen, experts_rest, head_rests, experts_alone})
      for (const auto& [ranks, experts] : {std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}})
        for (const RecomputeLevel level : {RecomputeLevel::none, RecomputeLevel::full})
          for (const program::UpdateSpec& spec : {update(), of_tensors}) {
            const program::ModelGraph graph = mixture(experts, family, rules);
            const StepProgram p = updated_in_backward(graph, mesh_of(ranks, experts), level, spec);
            CAPTURE(family, ranks, experts, static_cast<int>(level), print(p, &graph));
            CHECK(early_problem_of(p, graph, spec) == "");
          }
}

TEST_CASE("experts that are trained alone may be updated on the host") {
  const program::ModelGraph graph =
      mixture(2, "mixtral",
              {{.pattern = "*", .trained = false}, {.pattern = "*experts*", .trained = true}});
  for (const int ranks : {2, 4})
    for (const bool in_backward : {false, true}) {
      const Mesh mesh = mesh_of(ranks, 2);
      StepProgram p = passes::distributed_data_parallel(shared(graph, mesh), {mesh, 0});
      if (in_backward) p = passes::update_in_backward(std::move(p));
      p = passes::lower_collectives(passes::optimizer_offload(std::move(p)), DType::f32);
      CAPTURE(ranks, in_backward, print(p, &graph));
      CHECK((in_backward ? early_problem_of(p, graph) : problem_of(p, graph)) == "");
    }
}

TEST_CASE("experts lie in shards among those that have the same, all else among all") {
  struct Case {
    int ranks, experts, shard;
  };
  for (const Case& c : {Case{2, 2, 2}, Case{4, 2, 4}, Case{4, 2, 2}, Case{4, 4, 2}, Case{8, 2, 4},
                        Case{8, 4, 2}, Case{8, 2, 8}})
    for (const int stage : {1, 2, 3}) {
      CAPTURE(c.ranks, c.experts, c.shard, stage);
      const Mesh mesh = in_shards_of(mesh_of(c.ranks, c.experts), c.shard);
      const program::ModelGraph graph =
          program::divisible(mixture(c.experts), mesh, program::Unit::element);
      const StepProgram p = in_shards(graph, mesh, stage);
      CHECK(problem_of(p, graph) == "");
      for (const program::Buffer& b : p.buffers) {
        if (!b.resident || b.role != program::Role::state) continue;
        const program::GroupSpec& group = graph.groups[static_cast<std::size_t>(b.index)];
        const int parts = group.parts.are_several() ? std::max(c.shard, c.experts) : c.shard;
        CHECK(b.elements * parts == group.elements);
      }
    }
}

TEST_CASE("shards of experts are parts of what their ranks have, and all of it together") {
  const Mesh mesh = in_shards_of(mesh_of(8, 2), 4);
  const program::ModelGraph graph = program::divisible(mixture(2), mesh, program::Unit::element);
  const program::Layout layout =
      program::Layout().cut(axes::expert).cut(axes::shard - axes::expert);
  for (const program::GroupSpec& group : graph.groups) {
    if (!group.parts.are_several()) continue;
    std::map<std::string, std::int64_t> found, whole;
    std::set<std::int64_t> firsts;
    for (const int rank : mesh.peers(layout.along(), 5)) {
      const program::LocalGroup own = program::local(group, layout, mesh, rank);
      CHECK(own.spec.elements == group.elements / 4);
      CHECK(own.first == layout.part(mesh, rank) * own.spec.elements);
      CHECK(firsts.insert(own.first).second);
      const program::GroupSpec part = program::part_of(group, mesh.place(axes::expert, rank));
      for (const program::ParameterSpec& p : own.spec.parameters) {
        const auto of = std::ranges::find(part.parameters, p.name, &program::ParameterSpec::name);
        REQUIRE(of != part.parameters.end());
        CHECK(p.slice.first >= of->slice.first);
        CHECK(p.slice.first + p.elements() <= of->slice.first + of->elements());
        found[p.name] += p.elements();
      }
    }
    for (const program::ParameterSpec& p : group.parameters) whole[p.name] = p.elements();
    CHECK(found == whole);
  }
}

TEST_CASE("each instruction of a program with shared experts is needed") {
  const program::ModelGraph graph = mixture(2);
  const Mesh mesh = in_shards_of(mesh_of(4, 2), 4);
  const program::ModelGraph even = program::divisible(graph, mesh, program::Unit::element);
  for (const auto& [p, of] : {std::pair(in_ddp(graph, mesh_of(4, 2)), &graph),
                              std::pair(in_ddp(graph, mesh_of(2, 2), RecomputeLevel::full), &graph),
                              std::pair(in_shards(even, mesh, 2), &even)})
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      StepProgram without = p;
      without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
      CAPTURE(k, program::name_of(p.steady[k].op));
      CHECK(problem_of(without, *of) != "");
    }
}

TEST_CASE("each instruction of a program that updates shared experts in backward is needed") {
  const program::ModelGraph graph = mixture(2);
  for (const int ranks : {2, 4}) {
    const StepProgram p = updated_in_backward(graph, mesh_of(ranks, 2));
    REQUIRE(early_problem_of(p, graph) == "");
    CHECK(count(p, Op::reduce, axes::expert) == 2);  // a norm for each layer
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      StepProgram without = p;
      without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
      CAPTURE(k, program::name_of(p.steady[k].op));
      CHECK(early_problem_of(without, graph) != "");
    }
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
        copy.uses = {program::Use{i.uses[thing].buffer, How::read, program::CopySlot::from},
                     program::Use{i.uses[thing + 1].buffer, How::overwrite, program::CopySlot::to}};
        own.steady.insert(own.steady.begin() + static_cast<std::ptrdiff_t>(k + thing / 2),
                          std::move(copy));
      }
      CHECK(problem_of(own, graph) != "");
    }
    if (!program::is_collective(i.op)) continue;
    for (const AxisSet axis : {axes::all, axes::expert, axes::expert_replica}) {
      if (axis == i.along) continue;
      StepProgram among_others = p;
      among_others.steady[k].along = axis;
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
      if (!group.parts.are_several()) continue;
      ++groups;
      REQUIRE(group.parts.count == 2);
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
          CHECK(p.slice.first == elements[p.name]);
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
