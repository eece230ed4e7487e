#include "core/error.hpp"
#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/toy/printed.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"

namespace accumulation_test {

using namespace toy;

namespace {

std::string printed(const StepProgram& p, const ModelGraph& graph, std::size_t lines) {
  const std::vector<Instruction> head(p.steady.begin(),
                                      p.steady.begin() + static_cast<std::ptrdiff_t>(lines));
  return print(p, head, &graph);
}

}  // namespace

TEST_CASE(
    "accumulation repeats the micro-step; the first writer overwrites, tied weights have two per "
    "micro-step") {
  const ModelGraph graph = chain(1, true);
  const StepProgram plain = plain_program(graph, momentum());
  CHECK(squeezed(printed(plain, graph, 6)) == printed_micro_step(0));
  const StepProgram p = passes::accumulation(plain, 2);
  CHECK(squeezed(printed(p, graph, 12)) == printed_micro_step(0) + printed_micro_step(1));
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
  const auto recomputed = passes::activation_recomputation(plain, graph, RecomputeLevel::none);
  CHECK_THROWS_WITH(passes::accumulation(recomputed, 2),
                    "pass accumulation cannot follow pass activation_recomputation");
  CHECK_THROWS_AS(passes::accumulation(passes::accumulation(plain, 2), 2), InternalError);
  CHECK_THROWS_AS(passes::activation_recomputation(recomputed, graph, RecomputeLevel::full),
                  InternalError);
}

}  // namespace accumulation_test
