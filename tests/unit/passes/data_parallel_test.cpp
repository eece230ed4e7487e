#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"
#include <map>

namespace data_parallel_test {

using namespace toy;
using passes::data_parallel;

namespace {

/// With one space for several: columns are the printer's business.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ' && out.back() != '\n')) out += c;
  return out;
}

Roles roles_of(const StepProgram& p, int world, Bytes bucket_bytes = 0) {
  Roles roles{{data_parallel(p, {{world, 1}, bucket_bytes}, 0),
               data_parallel(p, {{world, 1}, bucket_bytes}, 1)},
              {0}};
  for (int r = 1; r < world; ++r) roles.of_rank.push_back(1);
  return roles;
}

}  // namespace

TEST_CASE("rank 0 alone keeps and updates; the others are sent what they compute with") {
  const ModelGraph graph = chain(1, false);
  const Roles roles = roles_of(plain_program(graph, momentum()), 2);
  CHECK(squeezed(print(roles.programs[0], &graph)) ==
        "m0 fetch_batch step > x target\n"
        "m0 fetch_batch(1) step > x(1) target(1)\n"
        "m0 send(1) @communication x(1)\n"
        "m0 send(1) @communication target(1)\n"
        "broadcast(0) @communication w.embed\n"
        "m0 forward embed x w.embed > h0\n"
        "broadcast(0) @communication w.b1\n"
        "m0 forward b1 h0 w.b1 > h1 b1.u b1.z\n"
        "broadcast(0) @communication w.head\n"
        "m0 loss head h1 w.head target > dh1 = g.head loss_sum target_count\n"
        "reduce(0) @communication > ~ loss_sum ~ target_count\n"
        "reduce(0) @communication > ~ g.head\n"
        "m0 backward b1 b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "reduce(0) @communication > ~ g.b1\n"
        "m0 backward embed x dh0 > = g.embed\n"
        "reduce(0) @communication > ~ g.embed\n"
        "advance_step > ~ step\n"
        "grad_norm g.embed g.b1 g.head > norm2\n"
        "update embed g.embed norm2 target_count applied lr_table > ~ m.embed ~ w.embed\n"
        "update b1 g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1\n"
        "update head g.head norm2 target_count applied lr_table > ~ m.head ~ w.head\n"
        "advance_applied norm2 > ~ applied\n"
        "report loss_sum target_count norm2 applied lr_table\n");
  CHECK(squeezed(print(roles.programs[1], &graph)) ==
        "m0 recv(0) @communication > x\n"
        "m0 recv(0) @communication > target\n"
        "broadcast(0) @communication > w.embed\n"
        "m0 forward embed x w.embed > h0\n"
        "broadcast(0) @communication > w.b1\n"
        "m0 forward b1 h0 w.b1 > h1 b1.u b1.z\n"
        "broadcast(0) @communication > w.head\n"
        "m0 loss head h1 w.head target > dh1 = g.head loss_sum target_count\n"
        "reduce(0) @communication loss_sum target_count\n"
        "reduce(0) @communication g.head\n"
        "m0 backward b1 b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "reduce(0) @communication g.b1\n"
        "m0 backward embed x dh0 > = g.embed\n"
        "reduce(0) @communication g.embed\n");
  for (const Buffer& b : roles.programs[1].buffers) CHECK_FALSE(b.resident);
  CHECK(prove(roles, {&graph, momentum(), 1, 2}) == "");
}

TEST_CASE("single-owner training means what one rank's over all micro-batches means") {
  for (const ModelGraph& graph : {chain(3, true), chain(3, false), encoder_decoder(3)})
    for (const auto level : {RecomputeLevel::none, RecomputeLevel::full})
      for (const int world : {2, 3})
        for (const int micro_steps : {1, 2})
          for (const Bytes bucket_bytes : {0, 1 << 20}) {
            const auto p = passes::activation_recomputation(
                passes::accumulation(plain_program(graph, momentum()), micro_steps), graph, level);
            const Roles roles = roles_of(p, world, bucket_bytes);
            CAPTURE(world, micro_steps, print(roles.programs[0], &graph),
                    print(roles.programs[1], &graph));
            CHECK(prove(roles, {&graph, momentum(), micro_steps, world}, {.steps = 3}) == "");
          }
}

TEST_CASE("a replica that misses any of what it is sent or gives is refused") {
  const ModelGraph graph = chain(2, false);
  const Roles roles = roles_of(plain_program(graph, momentum()), 2);
  const Training t{&graph, momentum(), 1, 2};
  const auto problem_of = [&](const Roles& of) {
    return check(of, {unplaced(of.programs[0]), unplaced(of.programs[1])}, t);
  };
  REQUIRE(problem_of(roles) == "");
  for (const std::size_t role : {0, 1})
    for (std::size_t k = 0; k < roles.programs[role].steady.size(); ++k) {
      if (!is_collective(roles.programs[role].steady[k].op)) continue;
      Roles without = roles;
      without.programs[role].steady.erase(without.programs[role].steady.begin() +
                                          static_cast<std::ptrdiff_t>(k));
      CAPTURE(role, k);
      CHECK(problem_of(without) != "");
    }
}

}  // namespace data_parallel_test
