// What ranks exchange in another type than they keep, and what arrives at what is there.
#include "core/error.hpp"
#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/catch.hpp"
#include "support/toy/printed.hpp"
#include "support/toy/prove.hpp"
#include "support/toy/text.hpp"

namespace lower_collectives_test {

using namespace toy;
using passes::lower_collectives;

namespace {

StepProgram repeated(const ModelGraph& graph) {
  return passes::accumulation(plain_program(graph, momentum()), 2);
}
StepProgram zero2(const ModelGraph& graph, int world) {
  return passes::zero(repeated(graph), graph, momentum(), {{world, world}}, {2});
}

std::string problem_of(const StepProgram& p, const Training& t) {
  const Reference reference = as_reference(t);
  return check_program(p, unplaced(p), &reference);
}

bool is_lowered(const StepProgram& p) {
  const auto dtype = [&](const Use& u) {
    return p.buffers[static_cast<std::size_t>(u.buffer)].dtype;
  };
  return std::ranges::all_of(p.steady, [&](const Instruction& i) {
    // a reduce may sum gradients and numbers at once; what a scatter takes, it gives
    return !is_collective(i.op) ||
           (std::ranges::none_of(i.uses, [](const Use& u) { return u.how == How::accumulate; }) &&
            (i.op != Op::scatter || std::ranges::all_of(i.uses, [&](const Use& u) {
               return dtype(u) == dtype(i.uses.front());
             })));
  });
}

}  // namespace

TEST_CASE("sums in bf16 are cast before and behind the reduce, beside the rest of backward") {
  const ModelGraph graph = chain(1, false);
  const StepProgram summed =
      passes::distributed_data_parallel(plain_program(graph, momentum()), {{2, 1}, 2 * width * 4});
  const std::string text = squeezed(print(lower_collectives(summed, DType::bf16), &graph));
  CAPTURE(text);
  CHECK(text.find("reduce @communication > ~ loss_sum ~ target_count\n") != std::string::npos);
  CHECK(text.find("cast @communication g.head > sent.g.head\n"
                  "cast @communication g.b1 > sent.g.b1\n"
                  "reduce @communication > ~ sent.g.head ~ sent.g.b1\n"
                  "cast @communication sent.g.head > = g.head\n"
                  "cast @communication sent.g.b1 > = g.b1\n"
                  "m0 backward embed") != std::string::npos);
  CHECK(print(lower_collectives(summed, DType::f32), &graph) == print(summed, &graph));
}

TEST_CASE("a scatter never adds: what arrives is added behind it") {
  const ModelGraph graph = chain(1, true);
  const StepProgram p = zero2(graph, 2);
  const std::string exact = squeezed(print(lower_collectives(p, DType::f32), &graph)),
                    rounded = squeezed(print(lower_collectives(p, DType::bf16), &graph));
  CAPTURE(exact, rounded);
  CHECK(exact.find("m0 scatter @communication g.b1 > = g.b1/\n") != std::string::npos);
  CHECK(exact.find("m1 scatter @communication g.b1^1 > sent.g.b1/\n"
                   "m1 add @communication sent.g.b1/ > + g.b1/\n") != std::string::npos);
  CHECK(rounded.find("m0 cast @communication g.b1 > sent.g.b1\n"
                     "m0 scatter @communication sent.g.b1 > sent.g.b1/\n"
                     "m0 cast @communication sent.g.b1/ > = g.b1/\n") != std::string::npos);
  CHECK(rounded.find("m1 cast @communication g.b1^1 > sent.g.b1^1\n"
                     "m1 scatter @communication sent.g.b1^1 > sent.g.b1/\n"
                     "m1 add @communication sent.g.b1/ > + g.b1/\n") != std::string::npos);
}

TEST_CASE("the owner alone casts back what it sums") {
  const ModelGraph graph = chain(1, true);
  const auto casts = [&](int rank) {
    const StepProgram p = lower_collectives(
        passes::data_parallel(plain_program(graph, momentum()), {{2, 1}}, rank), DType::bf16);
    return std::ranges::count(p.steady, Op::cast, &Instruction::op);
  };
  CHECK(casts(0) == 2 * 2);  // of two groups
  CHECK(casts(1) == 2);
}

TEST_CASE("every cast, addition and collective is needed, and lowering is the last pass") {
  const ModelGraph graph = chain(2, true);
  for (const DType sent : {DType::f32, DType::bf16})
    for (const bool in_shards : {false, true}) {
      const StepProgram p = lower_collectives(
          in_shards ? zero2(graph, 2)
                    : passes::distributed_data_parallel(repeated(graph), {{2, 1}, 1 << 20}),
          sent);
      const Training t{&graph, momentum(), 2, 2};
      CHECK(is_lowered(p));
      REQUIRE(problem_of(p, t) == "");
      CHECK(prove(p, t) == "");
      for (std::size_t k = 0; k < p.steady.size(); ++k) {
        if (p.steady[k].lane != Lane::communication) continue;
        CAPTURE(sent, in_shards, k, print(p, &graph));
        StepProgram missing = p;
        missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
        CHECK(problem_of(missing, t) != "");
        if (p.steady[k].op != Op::add) continue;
        StepProgram twice = p, stored = p;
        twice.steady.insert(twice.steady.begin() + static_cast<std::ptrdiff_t>(k), p.steady[k]);
        CHECK(problem_of(twice, t) != "");
        stored.steady[k].uses[1].how = How::overwrite;
        CHECK(problem_of(stored, t) != "");
      }
      CHECK_THROWS_AS(lower_collectives(p, sent), trainx::InternalError);
      CHECK_THROWS_AS(passes::update_in_backward(p), trainx::InternalError);
    }
}

}  // namespace lower_collectives_test
