#include "program/check.hpp"
#include "support/toy/programs.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <functional>

namespace check_test {

using namespace toy;

namespace {

/// The part if the sentence holds it, else the sentence: a failing comparison shows what was said.
std::string part_of(const std::string& sentence, const std::string& part) {
  return sentence.find(part) == std::string::npos ? sentence : part;
}

struct Checked {
  ModelGraph graph = chain(2, true);
  StepProgram p = plain_program(graph, momentum());
  std::string problem() const {
    const Reference reference{&graph, momentum(), 1};
    return check_program(p, unplaced(p), &reference);
  }
  Instruction& first(Op op) {
    for (Instruction& i : p.steady)
      if (i.op == op) return i;
    throw std::logic_error("no such instruction");
  }
};

}  // namespace

TEST_CASE("the plain program means what its model says") { CHECK(Checked().problem() == ""); }

TEST_CASE("the check says what is wrong, and where") {
  Checked c;
  SECTION("a buffer without bytes") {
    c.p.buffers[c.first(Op::loss).uses[0].buffer].elements = 0;
    CHECK(part_of(c.problem(), "h2, which is empty") == "h2, which is empty");
  }
  SECTION("a collective outside the communication lane") {
    c.p.steady.push_back({Op::reduce, none, none, Lane::compute, {Use{0, How::modify}}});
    CHECK(part_of(c.problem(), "communication lane") == "communication lane");
  }
  SECTION("one operand over another") {
    Instruction& forward = c.p.steady[2];
    forward.uses[3].buffer = forward.uses[0].buffer;
    CHECK(part_of(c.problem(), "shares bytes") == "shares bytes");
  }
  SECTION("read before written") {
    std::swap(c.p.steady[1], c.p.steady[2]);
    CHECK(part_of(c.problem(), "h0 is read") == "h0 is read");
  }
  SECTION("written and never read") {
    auto& uses = c.first(Op::backward).uses;
    std::erase_if(uses, [&](const Use& u) { return c.p.buffers[u.buffer].name == "b2.u"; });
    CHECK(part_of(c.problem(), "b2.u is overwritten") == "b2.u is overwritten");
  }
  SECTION("a recompute that lacks what its output is made from") {
    Instruction r = c.p.steady[2];
    r.op = Op::recompute;
    std::erase_if(r.uses, [](const Use& u) { return u.slot == 1 || u.slot == 5; });  // w, u
    for (Use& u : r.uses)
      if (writes(u.how))
        u.buffer = add_buffer(
            c.p, {.name = "again", .role = Role::scratch, .micro = 0, .elements = width});
    c.p.steady.insert(c.p.steady.begin() + 5, r);
    CHECK(part_of(c.problem(), "operand w") == "operand w");
  }
  SECTION("the update of one group with the gradient of another") {
    Instruction& update = c.first(Op::update);
    update.uses[0].buffer = c.first(Op::backward).uses.back().buffer;
    CHECK_FALSE(c.problem().empty());
  }
  SECTION("ranks that do not meet") {
    Roles roles{{c.p, c.p}, {0, 1}};
    for (StepProgram& p : roles.programs) p.mesh.world = 2;
    roles.programs[0].steady.push_back(
        {Op::reduce, none, none, Lane::communication, {Use{0, How::modify}}});
    const std::string problem = check(roles,
                                      {unplaced(roles.programs[0]), unplaced(roles.programs[1])},
                                      {&c.graph, momentum(), 1, 2});
    const std::string where = "rank 0 is at reduce of " + c.p.buffers[0].name +
                              ", rank 1 has ended";
    CHECK(part_of(problem, "do not meet: " + where) == "do not meet: " + where);
  }
}

TEST_CASE("a missing reduce is rightly equal on one rank and refused on two") {
  const ModelGraph graph = chain(1, true);
  StepProgram p = plain_program(graph, momentum());
  const Reference reference{&graph, momentum(), 1};
  CHECK(check_program(p, unplaced(p), &reference) == "");
  p.mesh.world = 2;
  CHECK_FALSE(check_program(p, unplaced(p), &reference).empty());
}

TEST_CASE("a group may be kept by some ranks alone, and some rank has to keep it") {
  const Example e = examples()[0];
  ModelGraph graph = e.graph;
  GroupSpec frozen = graph.groups.front();
  frozen.name = "frozen";
  frozen.training.trained = false;
  graph.groups.push_back(frozen);
  const StepProgram without = e.roles().programs[0];
  StepProgram with = without;
  add_buffer(with, {.name = "w.frozen",
                    .role = Role::parameter,
                    .index = static_cast<int>(graph.groups.size()) - 1,
                    .elements = frozen.elements,
                    .resident = true});
  const Reference reference{&graph, momentum(), 2};
  const Placement at_without = unplaced(without), at_with = unplaced(with);
  const auto problem = [&](bool first, bool second) {
    std::vector<program::RankProgram> ranks;
    for (const bool keeps : {first, second})
      ranks.push_back(keeps ? program::RankProgram{&with, &at_with}
                            : program::RankProgram{&without, &at_without});
    return check_program(ranks, &reference);
  };
  CHECK(problem(true, true) == "");
  CHECK(problem(true, false) == "");
  CHECK(problem(false, true) == "");
  CHECK(part_of(problem(false, false), "parameter of frozen") == "parameter of frozen");
}

TEST_CASE("states of tensors and blocks: their own bytes, and an update that is taken as one") {
  const auto rows = [](const ParameterSpec& p) {
    return p.dims.size() < 2 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{p.dims[0]};
  };
  ModelGraph graph = chain(2, true);
  for (GroupSpec& g : graph.groups) {
    g.parameters = {{.name = "matrix", .dims = {3, g.elements / 3}}};
    if (g.name == "b1") g.parameters[0].dims = {g.elements};  // a vector: nothing is kept of it
  }
  const UpdateSpec update{{{"m"}, {"row", DType::u8, 0, rows}}, Master::absent, 4, Unit::tensor};
  const StepProgram p = plain_program(graph, update);
  const Reference reference{&graph, update, 1};
  const auto find = [&](const std::string& name) {
    return std::find_if(p.buffers.begin(), p.buffers.end(),
                        [&](const Buffer& b) { return b.name == name; });
  };
  CHECK(find("row.b1") == p.buffers.end());
  REQUIRE(find("row.b2") != p.buffers.end());
  // a byte for each of three rows, and the gap behind them
  CHECK(find("row.b2")->bytes() == group_alignment);
  CHECK(find("m.b1")->bytes() == graph.groups[0].elements * 4);
  CHECK(check_program(p, unplaced(p), &reference) == "");
  CHECK(check_program(p, plan_memory(p), &reference) == "");

  const auto with = [&](const std::function<void(Instruction&)>& change) {
    StepProgram other = p;
    for (Instruction& i : other.steady)
      if (i.op == Op::update && other.buffers[i.uses.back().buffer].name == "w.b2") change(i);
    return check_program(other, unplaced(other), &reference);
  };
  const auto use_of = [&](Instruction& i, const std::string& name) -> Use& {
    return *std::find_if(i.uses.begin(), i.uses.end(),
                         [&](const Use& u) { return p.buffers[u.buffer].name == name; });
  };
  CHECK(with([&](Instruction& i) { use_of(i, "row.b2").how = How::read; }) != "");
  CHECK(with([&](Instruction& i) { i.uses.erase(i.uses.begin()); }) != "");  // its gradient
}

}  // namespace check_test
