#include "core/error.hpp"
#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"

using namespace toy;

namespace {

std::string printed(const StepProgram& p, const ModelGraph& graph, std::size_t lines) {
  const std::vector<Instruction> head(p.steady.begin(), p.steady.begin() + static_cast<std::ptrdiff_t>(lines));
  return print(p, head, &graph);
}

}  // namespace

TEST_CASE("accumulation repeats the micro-step; the first writer overwrites, tied weights have two per micro-step") {
  const ModelGraph graph = chain(1, true);
  const StepProgram plain = plain_program(graph, momentum());
  CHECK(printed(plain, graph, 6) ==
        "m0 fetch_batch       @copy_in  step               > x target\n"
        "m0 forward     embed           x w.tied           > h0\n"
        "m0 forward     b1              h0 w.b1            > h1 b1.u b1.z\n"
        "m0 loss        head            h1 w.tied target   > dh1 = g.tied loss_sum target_count\n"
        "m0 backward    b1              b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "m0 backward    embed           x dh0              > + g.tied\n");
  const StepProgram p = passes::accumulation(plain, 2);
  CHECK(printed(p, graph, 12) ==
        "m0 fetch_batch       @copy_in  step               > x target\n"
        "m0 forward     embed           x w.tied           > h0\n"
        "m0 forward     b1              h0 w.b1            > h1 b1.u b1.z\n"
        "m0 loss        head            h1 w.tied target   > dh1 = g.tied loss_sum target_count\n"
        "m0 backward    b1              b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "m0 backward    embed           x dh0              > + g.tied\n"
        "m1 fetch_batch       @copy_in  step               > x target\n"
        "m1 forward     embed           x w.tied           > h0\n"
        "m1 forward     b1              h0 w.b1            > h1 b1.u b1.z\n"
        "m1 loss        head            h1 w.tied target   > dh1 + g.tied + loss_sum + target_count\n"
        "m1 backward    b1              b1.u b1.z dh1 w.b1 > dh0 + g.b1\n"
        "m1 backward    embed           x dh0              > + g.tied\n");
  CHECK(p.steady.size() == plain.steady.size() + 6);
  CHECK(prove(p, {&graph, momentum(), 2, 1}) == "");
}

TEST_CASE("one micro-step is the plain program; memory does not grow with further ones") {
  const ModelGraph graph = chain(3, false);
  const StepProgram plain = plain_program(graph, momentum());
  CHECK(print(passes::accumulation(plain, 1)) == print(plain));
  const PlacementOptions tight{.alignment = 4, .overlap = 0};
  CHECK(plan_memory(passes::accumulation(plain, 5), tight).peak_of(Space::device) ==
        plan_memory(passes::accumulation(plain, 2), tight).peak_of(Space::device));
  CHECK_THROWS_AS(passes::accumulation(plain, 0), InternalError);
}

TEST_CASE("passes are applied in one order only") {
  const ModelGraph graph = chain(1, true);
  const StepProgram plain = plain_program(graph, momentum());
  using passes::CheckpointLevel;
  const auto checkpointed = passes::activation_checkpoint(plain, graph, CheckpointLevel::none);
  CHECK_THROWS_WITH(passes::accumulation(checkpointed, 2), "pass accumulation cannot follow pass activation_checkpoint");
  CHECK_THROWS_AS(passes::accumulation(passes::accumulation(plain, 2), 2), InternalError);
  CHECK_THROWS_AS(passes::activation_checkpoint(checkpointed, graph, CheckpointLevel::full), InternalError);
}
