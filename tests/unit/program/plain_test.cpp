#include "program/plain.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include "program/print.hpp"
#include "support/toy/printed.hpp"
#include "support/toy/programs.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace plain_test {

using namespace toy;

TEST_CASE("the plain program, printed") {
  const ModelGraph graph = chain(1, true);
  const StepProgram p = plain_program(graph, {{{"exp_avg"}, {"exp_avg_sq"}}, Master::split, 10});
  CHECK(squeezed(print(p, &graph)) ==
        printed_micro_step(0) +
            "advance_step > ~ step\n"
            "grad_norm g.tied g.b1 > norm2\n"
            "update tied g.tied norm2 target_count applied lr_table > ~ exp_avg.tied ~ "
            "exp_avg_sq.tied ~ master.tied ~ w.tied\n"
            "update b1 g.b1 norm2 target_count applied lr_table > ~ exp_avg.b1 ~ exp_avg_sq.b1 ~ "
            "master.b1 ~ w.b1\n"
            "advance_applied norm2 > ~ applied\n"
            "report loss_sum target_count norm2 applied lr_table\n");
}

TEST_CASE("residents come first, with the bytes of their dtypes") {
  ModelGraph graph = chain(1, false);
  graph.compute = DType::bf16;
  auto size = [&](Master master, const std::string& name) -> Bytes {
    for (const Buffer& b : plain_program(graph, {{{"exp_avg", DType::f32}}, master, 10}).buffers)
      if (b.name == name) return b.bytes();
    return -1;
  };
  CHECK(size(Master::split, "w.b1") == width * 2);
  CHECK(size(Master::split, "master.b1") == width * 2);
  CHECK(size(Master::fp32, "master.b1") == width * 4);
  CHECK(size(Master::absent, "master.b1") == -1);
  CHECK(size(Master::fp32, "exp_avg.b1") == width * 4);
  CHECK(size(Master::fp32, "g.b1") == width * 4);
  CHECK(size(Master::fp32, "lr_table") == 80);
  CHECK(size(Master::fp32, "loss_sum") == 8);
  const StepProgram p = plain_program(graph, momentum());
  bool transient = false;
  for (const Buffer& b : p.buffers) {
    CHECK_FALSE((transient && b.resident));
    transient |= !b.resident;
  }
}

TEST_CASE("forward programs share the residents and keep nothing") {
  const ModelGraph graph = chain(2, true);
  const StepProgram train = plain_program(graph, momentum()),
                    p = forward_program(train, graph, Op::evaluate);
  CHECK(print(p, &graph) ==
        "m0 fetch_batch        step                  > x target\n"
        "m0 forward     embed  x w.tied              > h0\n"
        "m0 forward     b1     h0 w.b1               > h1\n"
        "m0 forward     b2     h1 w.b2               > h2\n"
        "m0 evaluate    head   h2 w.tied target      > loss_sum target_count\n"
        "   report             loss_sum target_count\n");
  for (std::size_t b = 0; train.buffers[b].resident; ++b)
    CHECK(p.buffers[b].name == train.buffers[b].name);
  CHECK(check_program(p, plan_memory(p)) == "");
  CHECK_THROWS_AS(forward_program(train, graph, Op::loss), InternalError);
}

TEST_CASE(
    "a forward program in another type casts parameters before the blocks that use them, and drops "
    "them behind") {
  const ModelGraph graph = chain(2, true);
  ModelGraph half = graph;
  half.compute = DType::bf16;
  half.stored = graph.compute;
  const StepProgram p = forward_program(plain_program(graph, momentum()), half, Op::evaluate);
  CHECK(print(p, &half) ==
        "m0 fetch_batch        step                  > x target\n"
        "m0 cast        tied   w.tied                > bf16.tied\n"
        "m0 forward     embed  x bf16.tied           > h0\n"
        "m0 cast        b1     w.b1                  > bf16.b1\n"
        "m0 forward     b1     h0 bf16.b1            > h1\n"
        "m0 cast        b2     w.b2                  > bf16.b2\n"
        "m0 forward     b2     h1 bf16.b2            > h2\n"
        "m0 cast        tied   w.tied                > bf16.tied\n"
        "m0 evaluate    head   h2 bf16.tied target   > loss_sum target_count\n"
        "   report             loss_sum target_count\n");
  const Placement at = plan_memory(p);
  CHECK(check_program(p, at) == "");
  const auto lives = lifetimes(p);
  for (std::size_t k = 0; k < p.steady.size(); ++k) {  // no cast lives beside another
    int casts = 0;
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].role == Role::parameter && !p.buffers[b].resident)
        for (const Interval& i : lives[b])
          casts += i.first <= static_cast<int>(k) && static_cast<int>(k) <= i.last;
    CHECK(casts <= 1);
  }
  for (std::size_t k = 0; k < p.steady.size(); ++k) {  // sabotage: none can be left out
    if (p.steady[k].op != Op::cast) continue;
    StepProgram without = p;
    without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
    const std::string problem = check_program(without, at);
    CAPTURE(k, problem);
    CHECK(problem.find(" is read ") != std::string::npos);
  }
  CHECK_THROWS_AS(plain_program(half, momentum()), InternalError);
}

TEST_CASE("a cast parameter is not the parameter: training with one is not sequential training") {
  const ModelGraph graph = chain(1, false);
  StepProgram p = plain_program(graph, momentum());
  const Reference reference{&graph, momentum()};
  REQUIRE(check_program(p, plan_memory(p), &reference) == "");
  const auto forward = std::ranges::find_if(
      p.steady, [&](const Instruction& i) { return i.op == Op::forward && i.block == 1; });
  const auto use = std::ranges::find_if(
      forward->uses, [&](const Use& u) { return p.buffers[u.buffer].role == Role::parameter; });
  const Buffer parameter = p.buffers[use->buffer];
  const Use read = *use;
  const BufferId cast = add_buffer(p, {.name = "bf16." + parameter.name,
                                       .role = Role::parameter,
                                       .index = parameter.index,
                                       .micro = 0,
                                       .dtype = DType::bf16,
                                       .elements = parameter.elements});
  *use = Use{cast, How::read, read.slot};
  p.steady.insert(forward, {.op = Op::cast,
                            .micro = 0,
                            .uses = {{read.buffer, How::read, CopySlot::from},
                                     Use{cast, How::overwrite, CopySlot::to}},
                            .group = parameter.index});
  CHECK(check_program(p, plan_memory(p)) == "");
  CHECK(check_program(p, plan_memory(p), &reference).find("sequential training") !=
        std::string::npos);
}

TEST_CASE("the first writer of a gradient overwrites, wherever it stands") {
  const ModelGraph graph = encoder_decoder(2);
  StepProgram p = plain_program(graph, momentum());
  for (Instruction& i : p.steady)
    for (Use& u : i.uses)
      if (p.buffers[u.buffer].name == "dmemory" && writes(u.how)) u.how = How::accumulate;
  first_writer_overwrites(p);
  std::vector<How> writers;
  for (const Instruction& i : p.steady)
    for (const Use& u : i.uses)
      if (p.buffers[u.buffer].name == "dmemory" && writes(u.how)) writers.push_back(u.how);
  CHECK(writers == std::vector<How>{How::overwrite, How::accumulate});
}

}  // namespace plain_test
