#include "passes/passes.hpp"
#include "core/error.hpp"
#include "program/print.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"

namespace activation_recomputation_test {

using namespace toy;

namespace {

/// Of the lines up to the step's end.
std::string micro_steps_of(const StepProgram& p, const ModelGraph& graph) {
  std::vector<Instruction> list;
  for (const Instruction& i : p.steady)
    if (i.micro != none) list.push_back(i);
  return print(p, list, &graph);
}

/// Values alive at the loss, by name.
std::vector<std::string> kept_at_loss(const StepProgram& p) {
  int loss = 0;
  while (p.steady[loss].op != Op::loss) ++loss;
  std::vector<std::string> names;
  const auto lives = lifetimes(p);
  for (std::size_t b = 0; b < lives.size(); ++b)
    for (const Interval& i : lives[b])
      if ((p.buffers[b].role == Role::value || p.buffers[b].role == Role::saved) &&
          i.first < loss && i.last > loss)
        names.push_back(p.buffers[b].name);
  return names;
}

}  // namespace

TEST_CASE("selective recomputation repeats what is cheap just before its backward") {
  const ModelGraph graph = pairs(1);
  const StepProgram p = passes::activation_recomputation(plain_program(graph, momentum()), graph,
                                                         RecomputeLevel::selective);
  CHECK(micro_steps_of(p, graph) ==
        "m0 fetch_batch         step                                   > x target\n"
        "m0 forward     embed   x w.tied                               > r0\n"
        "m0 forward     l0.att  r0 w.l0.att                            > l0.att.z a0\n"
        "m0 forward     l0.mlp  r0 a0 w.l0.mlp                         > r1 l0.mlp.z a1\n"
        "m0 loss        head    r1 a1 w.tied target                    > dr1 da1 = g.tied loss_sum "
        "target_count\n"
        "m0 recompute   l0.mlp  w.l0.mlp r1                            > l0.mlp.normed\n"
        "m0 backward    l0.mlp  r1 l0.mlp.normed l0.mlp.z w.l0.mlp dr1 da1 > dr0 da0 = g.l0.mlp\n"
        "m0 recompute   l0.att  r0 w.l0.att                            > l0.att.normed\n"
        "m0 backward    l0.att  r0 l0.att.normed l0.att.z w.l0.att da0 > ~ dr0 = g.l0.att\n"
        "m0 backward    embed   x dr0                                  > + g.tied\n");
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE(
    "full recomputation keeps one value a layer and recomputes the layer before its "
    "first backward") {
  const ModelGraph graph = pairs(2);
  const StepProgram p = passes::activation_recomputation(plain_program(graph, momentum()), graph,
                                                         RecomputeLevel::full);
  CHECK(
      micro_steps_of(p, graph) ==
      "m0 fetch_batch         step                                   > x target\n"
      "m0 forward     embed   x w.tied                               > r0\n"
      "m0 forward     l0.att  r0 w.l0.att                            > a0\n"
      "m0 forward     l0.mlp  r0 a0 w.l0.mlp                         > r1 a1\n"
      "m0 forward     l1.att  r1 a1 w.l1.att                         > r2 a2\n"
      "m0 forward     l1.mlp  r2 a2 w.l1.mlp                         > r3 a3\n"
      "m0 loss        head    r3 a3 w.tied target                    > dr3 da3 = g.tied loss_sum "
      "target_count\n"
      "m0 recompute   l1.att  w.l1.att r2                            > l1.att.normed l1.att.z a2^\n"
      "m0 recompute   l1.mlp  r2 a2^ w.l1.mlp                        > r3^ l1.mlp.normed l1.mlp.z\n"
      "m0 backward    l1.mlp  r3^ l1.mlp.normed l1.mlp.z w.l1.mlp dr3 da3 > dr2 da2 = g.l1.mlp\n"
      "m0 backward    l1.att  r2 l1.att.normed l1.att.z w.l1.att dr2 da2 > dr1 da1 = g.l1.att\n"
      "m0 recompute   l0.att  r0 w.l0.att                            > l0.att.normed l0.att.z a0^\n"
      "m0 recompute   l0.mlp  r0 a0^ w.l0.mlp                        > r1^ l0.mlp.normed l0.mlp.z\n"
      "m0 backward    l0.mlp  r1^ l0.mlp.normed l0.mlp.z w.l0.mlp dr1 da1 > dr0 da0 = g.l0.mlp\n"
      "m0 backward    l0.att  r0 l0.att.normed l0.att.z w.l0.att da0 > ~ dr0 = g.l0.att\n"
      "m0 backward    embed   x dr0                                  > + g.tied\n");
  CHECK(kept_at_loss(p) == std::vector<std::string>{"r0", "r2"});
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE(
    "what is dropped becomes scratch of the forward; what is rebuilt on the way is scratch of the "
    "recomputation") {
  const ModelGraph graph = pairs(1);
  const StepProgram p = passes::activation_recomputation(plain_program(graph, momentum()), graph,
                                                         RecomputeLevel::full);
  auto scratch = [&](Op op, int block) {
    std::vector<std::string> names;
    for (const Instruction& i : p.steady)
      if (i.op == op && i.block == block)
        for (const Use& u : i.uses)
          if (p.buffers[u.buffer].role == Role::scratch) names.push_back(p.buffers[u.buffer].name);
    return names;
  };
  CHECK(scratch(Op::forward, 1) ==
        std::vector<std::string>{"l0.att.normed", "l0.att.z", "l0.att.work"});
  // a0 is made from it
  CHECK(scratch(Op::recompute, 1) == std::vector<std::string>{"l0.att.work"});
  // a1 is not needed again, so neither is its scratch
  CHECK(scratch(Op::recompute, 2) == std::vector<std::string>{});
}

TEST_CASE("a layer that reads an encoder's value restarts from what it reads") {
  const ModelGraph graph = encoder_decoder(2);
  const StepProgram p = passes::activation_recomputation(plain_program(graph, momentum()), graph,
                                                         RecomputeLevel::full);
  CHECK(kept_at_loss(p) == std::vector<std::string>{"memory", "h0", "h1"});
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE("the more is recomputed, the less memory; each micro-step alike; none changes nothing") {
  const ModelGraph graph = pairs(6);
  const UpdateSpec update = momentum();
  Bytes before = std::numeric_limits<Bytes>::max();
  for (const auto level : {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::mlp,
                           RecomputeLevel::full}) {
    const StepProgram plain = passes::accumulation(plain_program(graph, update), 3);
    const StepProgram p = passes::activation_recomputation(plain, graph, level);
    if (level == RecomputeLevel::none) CHECK(print(p) == print(plain));
    const Bytes peak = plan_memory(p, {.alignment = 4, .overlap = 0}).peak_of(Space::device);
    CHECK(peak < before);
    before = peak;
    CHECK(prove(p, {&graph, update, 3, 1}) == "");
  }
}

TEST_CASE("each layer may have a level of its own, and layers at full may be recomputed together") {
  const ModelGraph graph = pairs(6);
  const UpdateSpec update = momentum();
  const auto N = RecomputeLevel::none, S = RecomputeLevel::selective, M = RecomputeLevel::mlp,
             F = RecomputeLevel::full;
  const auto recomputed = [&](const StepProgram& p) {
    std::vector<int> layers(6);
    for (const Instruction& i : p.steady)
      if (i.op == Op::recompute)
        ++layers[static_cast<std::size_t>(graph.blocks[static_cast<std::size_t>(i.block)].layer)];
    return layers;
  };
  const auto peak = [](const StepProgram& p) {
    return plan_memory(p, {.alignment = 4, .overlap = 0}).peak_of(Space::device);
  };
  for (const int segment : {1, 2, 3, 6})
    for (const std::vector<RecomputeLevel>& levels : {std::vector{F, F, F, F, F, F},
                                                      {F, N, F, F, N, F},
                                                      {N, S, M, F, F, S},
                                                      {M, M, M, N, N, N},
                                                      {N, N, N, N, N, N}}) {
      const StepProgram p = passes::activation_recomputation(
          passes::accumulation(plain_program(graph, update), 2), graph, {levels, segment});
      CAPTURE(segment, print(p, &graph));
      CHECK(prove(p, {&graph, update, 2, 1}) == "");
      const auto seen = recomputed(p);
      for (std::size_t l = 0; l < levels.size(); ++l) CHECK((seen[l] > 0) == (levels[l] != N));
    }
  const auto together = [&](int segment) {
    return passes::activation_recomputation(plain_program(graph, update), graph, {{F}, segment});
  };
  CHECK(kept_at_loss(together(1)).size() == 6);
  CHECK(kept_at_loss(together(2)).size() == 3);
  CHECK(kept_at_loss(together(6)).size() == 1);
  CHECK(peak(passes::activation_recomputation(plain_program(graph, update), graph,
                                              {{F, F, F, N, N, N}, 1})) <
        peak(passes::activation_recomputation(plain_program(graph, update), graph, N)));
}

TEST_CASE("an operand that does not say what it is computed from cannot be dropped") {
  ModelGraph graph = chain(1, true);
  graph.blocks[1].slots[6].from.clear();
  CHECK_THROWS_AS(passes::activation_recomputation(plain_program(graph, momentum()), graph,
                                                   RecomputeLevel::full),
                  trainx::InternalError);
}

}  // namespace activation_recomputation_test
