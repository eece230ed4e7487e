#include "passes/passes.hpp"
#include "core/error.hpp"
#include "program/print.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"

namespace update_in_backward_test {

using namespace toy;

namespace {

Training in_backward(const ModelGraph& graph, const UpdateSpec& update, int micro_steps = 1) {
  Training t{&graph, update, micro_steps};
  t.update_in_backward = true;
  return t;
}

std::string problem_of(const StepProgram& p, const Training& t) {
  const Reference reference = as_reference(t);
  return check_program(p, unplaced(p), &reference);
}

Bytes peak(const StepProgram& p) {
  return plan_memory(p, {.alignment = 4, .overlap = 0}).peak_of(Space::device);
}

}  // namespace

TEST_CASE(
    "each update comes right behind what completes its gradient; tied weights, which the first "
    "block uses last, come last") {
  const ModelGraph graph = chain(2, true);
  const StepProgram p = passes::update_in_backward(plain_program(graph, momentum()));
  CHECK(print(p, &graph) ==
        "m0 fetch_batch            step               > x target\n"
        "m0 forward         embed  x w.tied           > h0\n"
        "m0 forward         b1     h0 w.b1            > h1 b1.u b1.z\n"
        "m0 forward         b2     h1 w.b2            > h2 b2.u b2.z\n"
        "m0 loss            head   h2 w.tied target   > dh2 = g.tied loss_sum target_count\n"
        "m0 backward        b2     b2.u b2.z dh2 w.b2 > dh1 = g.b2\n"
        "   grad_norm              g.b2               > norm2\n"
        "   update          b2     g.b2 norm2 target_count applied lr_table > ~ m.b2 ~ w.b2\n"
        "m0 backward        b1     b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "   grad_norm              g.b1               > + norm2\n"
        "   update          b1     g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1\n"
        "m0 backward        embed  x dh0              > + g.tied\n"
        "   grad_norm              g.tied             > + norm2\n"
        "   update          tied   g.tied norm2 target_count applied lr_table > ~ m.tied ~ w.tied\n"
        "   advance_step                              > ~ step\n"
        "   advance_applied        norm2              > ~ applied\n"
        "   report                 loss_sum target_count norm2 applied lr_table\n");
  CHECK(prove(p, in_backward(graph, momentum())) == "");
}

TEST_CASE(
    "updates in backward mean what sequential training with them means, for every model, level and "
    "optimizer") {
  for (const ModelGraph& graph :
       {chain(3, true), chain(3, false), encoder_decoder(3), pairs(3), unfused()})
    for (const auto level : {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::mlp,
                             RecomputeLevel::full})
      for (const Unit unit : {Unit::element, Unit::tensor})
        for (const Master master : {Master::absent, Master::fp32})
          for (const int micro_steps : {1, 3}) {
            const UpdateSpec update{{{"m"}}, master, 4, unit};
            const auto p = passes::update_in_backward(passes::activation_recomputation(
                passes::accumulation(plain_program(graph, update), micro_steps), graph, level));
            CAPTURE(print(p, &graph));
            CHECK(prove(p, in_backward(graph, update, micro_steps), {.steps = 3}) == "");
          }
}

TEST_CASE("a step with an infinity leaves the groups behind it and the applied steps as they are") {
  const ModelGraph graph = chain(3, false);
  Training t = in_backward(graph, momentum());
  t.overflow = {1, 0};
  CHECK(prove(passes::update_in_backward(plain_program(graph, momentum())), t) == "");
}

TEST_CASE(
    "gradients die early: memory falls by nearly all of their bytes where they are what counts") {
  ModelGraph graph = chain(12, false);
  // of activations there is next to nothing
  for (GroupSpec& g : graph.groups) g.parameters[0].dims = {64 * width}, g.elements = 64 * width;
  const StepProgram plain = plain_program(graph, momentum()), p = passes::update_in_backward(plain);
  Bytes gradients = 0, largest = 0;
  for (const Buffer& b : plain.buffers)
    if (b.role == Role::gradient) gradients += b.bytes(), largest = std::max(largest, b.bytes());
  CHECK(peak(plain) - peak(p) >= gradients - 2 * largest);
}

TEST_CASE("updates left at the end, too early or doubled are refused") {
  const ModelGraph graph = chain(2, true);
  const Training t = in_backward(graph, momentum());
  CHECK(problem_of(plain_program(graph, momentum()), t) != "");  // a pass that does nothing
  const StepProgram p = passes::update_in_backward(plain_program(graph, momentum()));
  REQUIRE(problem_of(p, t).empty());
  // nor is it what the plain run is
  CHECK(problem_of(p, {&graph, momentum()}) != "");
  int moved = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (p.steady[k].op != Op::update && p.steady[k].op != Op::grad_norm) continue;
    StepProgram at_the_end = p, twice = p, missing = p;
    const Instruction i = p.steady[k];
    twice.steady.insert(twice.steady.begin() + static_cast<std::ptrdiff_t>(k), i);
    CHECK(problem_of(twice, t) != "");
    missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
    CHECK(problem_of(missing, t) != "");
    // before what it has to follow
    for (std::size_t to = 1; to < k; ++to) {
      if (std::none_of(p.steady.begin() + static_cast<std::ptrdiff_t>(to),
                       p.steady.begin() + static_cast<std::ptrdiff_t>(k),
                       [&](const Instruction& other) { return meet(other, i); }))
        continue;
      StepProgram early = p;
      std::rotate(early.steady.begin() + static_cast<std::ptrdiff_t>(to),
                  early.steady.begin() + static_cast<std::ptrdiff_t>(k),
                  early.steady.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      CHECK(problem_of(early, t) != "");
      ++moved;
    }
    // the last one stands where it would stand at the end
    if (i.op != Op::update || i.group == 0) continue;
    at_the_end.steady.erase(at_the_end.steady.begin() + static_cast<std::ptrdiff_t>(k));
    at_the_end.steady.insert(at_the_end.steady.end() - 2, i);  // before advance_applied
    CHECK(problem_of(at_the_end, t) != "");
  }
  CHECK(moved > 20);
}

TEST_CASE("the pass comes after those that add readers and writers") {
  const ModelGraph graph = chain(1, true);
  const auto p = passes::update_in_backward(plain_program(graph, momentum()));
  CHECK_THROWS_AS(passes::activation_recomputation(p, graph, RecomputeLevel::full),
                  trainx::InternalError);
  CHECK_THROWS_AS(passes::activation_offload(p), trainx::InternalError);
  CHECK_THROWS_AS(passes::update_in_backward(p), trainx::InternalError);
}

}  // namespace update_in_backward_test
