#include "core/error.hpp"
#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"

namespace distributed_data_parallel_test {

using namespace toy;
using passes::distributed_data_parallel;
using passes::ReduceOptions;

namespace {

Training over(int world, const ModelGraph& graph, const UpdateSpec& update, int micro_steps = 1) {
  return {&graph, update, micro_steps, world};
}

std::string problem_of(const StepProgram& p, const Training& t) {
  const Reference reference = as_reference(t);
  return check_program(p, unplaced(p), &reference);
}

int reduces(const StepProgram& p) {
  return static_cast<int>(std::count_if(p.steady.begin(), p.steady.end(),
                                        [](const Instruction& i) { return i.op == Op::reduce; }));
}

}  // namespace

TEST_CASE("gradients and sums are reduced behind their last writer, beside the rest of backward") {
  const ModelGraph graph = chain(2, true);
  const StepProgram p = distributed_data_parallel(plain_program(graph, momentum()), {{2, 1}});
  CHECK(print(p, &graph) ==
        "m0 fetch_batch                           step               > x target\n"
        "m0 forward         embed                 x w.tied           > h0\n"
        "m0 forward         b1                    h0 w.b1            > h1 b1.u b1.z\n"
        "m0 forward         b2                    h1 w.b2            > h2 b2.u b2.z\n"
        "m0 loss            head                  h2 w.tied target   > dh2 = g.tied loss_sum "
        "target_count\n"
        "   reduce                @communication                     > ~ loss_sum ~ target_count\n"
        "m0 backward        b2                    b2.u b2.z dh2 w.b2 > dh1 = g.b2\n"
        "   reduce                @communication                     > ~ g.b2\n"
        "m0 backward        b1                    b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "   reduce                @communication                     > ~ g.b1\n"
        "m0 backward        embed                 x dh0              > + g.tied\n"
        "   reduce                @communication                     > ~ g.tied\n"
        "   advance_step                                             > ~ step\n"
        "   grad_norm                             g.tied g.b1 g.b2   > norm2\n"
        "   update          tied                  g.tied norm2 target_count applied lr_table > ~ "
        "m.tied ~ w.tied\n"
        "   update          b1                    g.b1 norm2 target_count applied lr_table > ~ "
        "m.b1 ~ w.b1\n"
        "   update          b2                    g.b2 norm2 target_count applied lr_table > ~ "
        "m.b2 ~ w.b2\n"
        "   advance_applied                       norm2              > ~ applied\n"
        "   report                                loss_sum target_count norm2 applied lr_table\n");
  CHECK(prove(p, over(2, graph, momentum())) == "");
}

TEST_CASE(
    "sums over ranks mean what one rank's training over all micro-batches means, in whatever "
    "buckets and with every other method") {
  for (const ModelGraph& graph : {chain(3, true), chain(3, false), encoder_decoder(3), pairs(3)})
    for (const auto level : {RecomputeLevel::none, RecomputeLevel::full})
      for (const int world : {1, 2, 3})
        for (const int micro_steps : {1, 2})
          for (const ReduceOptions& how :
               {ReduceOptions{{world, 1}}, ReduceOptions{{world, 1}, 2 * width * 4},
                ReduceOptions{{world, 1}, 1 << 20}}) {
            auto p = passes::activation_recomputation(
                passes::accumulation(plain_program(graph, momentum()), micro_steps), graph, level);
            p = distributed_data_parallel(std::move(p), how);
            CAPTURE(world, micro_steps, how.bucket_bytes, print(p, &graph));
            for (const DType sent : {DType::f32, DType::bf16})
              CHECK(prove(passes::lower_collectives(p, sent),
                          over(world, graph, momentum(), micro_steps), {.steps = 3}) == "");
          }
}

TEST_CASE(
    "with updates in backward each comes one block after its sum, so that backward waits for "
    "none") {
  const ModelGraph graph = chain(3, false);
  for (const int world : {2, 3}) {
    const auto p = passes::update_in_backward(
        distributed_data_parallel(plain_program(graph, momentum()), {{world, 1}}));
    CAPTURE(print(p, &graph));
    for (std::size_t k = 0; k + 1 < p.steady.size(); ++k) {
      const bool gradient_summed =
          p.steady[k].op == Op::reduce &&
          p.buffers[static_cast<std::size_t>(p.steady[k].uses[0].buffer)].role == Role::gradient;
      const bool last = std::none_of(p.steady.begin() + static_cast<std::ptrdiff_t>(k),
                                     p.steady.end(),
                                     [](const Instruction& i) { return i.op == Op::backward; });
      if (gradient_summed && !last) CHECK(p.steady[k + 1].op == Op::backward);
    }
    Training t = over(world, graph, momentum());
    t.update_in_backward = true;
    CHECK(prove(p, t) == "");
  }
}

TEST_CASE(
    "buckets hold gradients in the order in which they are completed, until there are enough "
    "bytes") {
  const ModelGraph graph = chain(4, false);
  const auto plain = plain_program(graph, momentum());
  const Bytes gradient = width * 4;
  // sums of the loss; embedding, four blocks, head
  CHECK(reduces(distributed_data_parallel(plain, {{2, 1}})) == 1 + 6);
  CHECK(reduces(distributed_data_parallel(plain, {{2, 1}, 2 * gradient})) == 1 + 3);
  // what is left is a bucket too
  CHECK(reduces(distributed_data_parallel(plain, {{2, 1}, 4 * gradient})) == 1 + 2);
  CHECK(reduces(distributed_data_parallel(plain, {{2, 1}, 1 << 20})) == 1 + 1);
}

TEST_CASE("an overflow on one rank is skipped by all") {
  const ModelGraph graph = chain(2, true);
  Training t = over(3, graph, momentum());
  t.overflow = {1, 2};
  CHECK(prove(distributed_data_parallel(plain_program(graph, momentum()), {{3, 1}}), t) == "");
}

TEST_CASE("with two ranks every sum that is missing, made twice or made early is refused") {
  const ModelGraph graph = chain(3, true);
  const auto p = distributed_data_parallel(
      passes::accumulation(plain_program(graph, momentum()), 2), {{2, 1}});
  const Training t = over(2, graph, momentum(), 2);
  REQUIRE(problem_of(p, t) == "");
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (p.steady[k].op != Op::reduce) continue;
    CAPTURE(k);
    StepProgram missing = p, twice = p, early = p;
    missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
    twice.steady.insert(twice.steady.begin() + static_cast<std::ptrdiff_t>(k), p.steady[k]);
    CHECK(problem_of(missing, t) != "");
    CHECK(problem_of(twice, t) != "");
    std::size_t writer = k;  // the instruction whose result is summed
    while (!meet(p.steady[writer - 1], p.steady[k])) --writer;
    std::swap(early.steady[writer - 1], early.steady[k]);
    CHECK(problem_of(early, t) != "");
  }
}

}  // namespace distributed_data_parallel_test
