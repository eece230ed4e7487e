#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/toy/prove.hpp"
#include "support/catch.hpp"
#include <set>

namespace activation_offload_test {

using namespace toy;

namespace {

StepProgram offloaded(const ModelGraph& graph, RecomputeLevel level, int micro_steps = 1) {
  return passes::activation_offload(passes::activation_recomputation(
      passes::accumulation(plain_program(graph, momentum()), micro_steps), graph, level));
}

/// As the executors have it: bytes that a copy touches stay for one more block.
Placement placed(const StepProgram& p) { return plan_memory(p, {.alignment = 4, .overlap = 1}); }

/// Names of what is copied in that direction, in the program's order.
std::vector<std::string> copied(const StepProgram& p, Lane lane) {
  std::vector<std::string> names;
  for (const Instruction& i : p.steady)
    if (i.op == Op::copy && i.lane == lane)
      names.push_back(p.buffers[static_cast<std::size_t>(i.uses[1].buffer)].name);
  return names;
}

}  // namespace

TEST_CASE(
    "what layers keep goes out behind forward and comes back one block ahead of its backward; the "
    "last layers' stays") {
  const ModelGraph graph = chain(4, true);
  const StepProgram p = offloaded(graph, RecomputeLevel::none);
  CHECK(print(p, &graph) ==
        "m0 fetch_batch                      step                       > x target\n"
        "m0 forward         embed            x w.tied                   > h0\n"
        "m0 forward         b1               h0 w.b1                    > h1 b1.u b1.z\n"
        "m0 copy                  @copy_out  b1.u                       > b1.u'\n"
        "m0 copy                  @copy_out  b1.z                       > b1.z'\n"
        "m0 forward         b2               h1 w.b2                    > h2 b2.u b2.z\n"
        "m0 copy                  @copy_out  b2.u                       > b2.u'\n"
        "m0 copy                  @copy_out  b2.z                       > b2.z'\n"
        "m0 forward         b3               h2 w.b3                    > h3 b3.u b3.z\n"
        "m0 copy                  @copy_out  b3.u                       > b3.u'\n"
        "m0 copy                  @copy_out  b3.z                       > b3.z'\n"
        "m0 forward         b4               h3 w.b4                    > h4 b4.u b4.z\n"
        "m0 loss            head             h4 w.tied target           > dh4 = g.tied loss_sum "
        "target_count\n"
        "m0 copy                  @copy_in   b3.u'                      > b3.u^\n"
        "m0 copy                  @copy_in   b3.z'                      > b3.z^\n"
        "m0 backward        b4               b4.u b4.z dh4 w.b4         > dh3 = g.b4\n"
        "m0 copy                  @copy_in   b2.u'                      > b2.u^\n"
        "m0 copy                  @copy_in   b2.z'                      > b2.z^\n"
        "m0 backward        b3               b3.u^ b3.z^ dh3 w.b3       > dh2 = g.b3\n"
        "m0 copy                  @copy_in   b1.u'                      > b1.u^\n"
        "m0 copy                  @copy_in   b1.z'                      > b1.z^\n"
        "m0 backward        b2               b2.u^ b2.z^ dh2 w.b2       > dh1 = g.b2\n"
        "m0 backward        b1               b1.u^ b1.z^ dh1 w.b1       > dh0 = g.b1\n"
        "m0 backward        embed            x dh0                      > + g.tied\n"
        "   advance_step                                                > ~ step\n"
        "   grad_norm                        g.tied g.b1 g.b2 g.b3 g.b4 > norm2\n"
        "   update          tied             g.tied norm2 target_count applied lr_table > ~ m.tied "
        "~ w.tied\n"
        "   update          b1               g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ "
        "w.b1\n"
        "   update          b2               g.b2 norm2 target_count applied lr_table > ~ m.b2 ~ "
        "w.b2\n"
        "   update          b3               g.b3 norm2 target_count applied lr_table > ~ m.b3 ~ "
        "w.b3\n"
        "   update          b4               g.b4 norm2 target_count applied lr_table > ~ m.b4 ~ "
        "w.b4\n"
        "   advance_applied                  norm2                      > ~ applied\n"
        "   report                           loss_sum target_count norm2 applied lr_table\n");
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE("with full recomputation one hidden a layer is what goes out") {
  const ModelGraph graph = pairs(5);
  const StepProgram p = offloaded(graph, RecomputeLevel::full);
  CHECK(copied(p, Lane::copy_out) == std::vector<std::string>{"r0'", "r2'", "r4'", "r6'"});
  CHECK(copied(p, Lane::copy_in) == std::vector<std::string>{"r6^", "r4^", "r2^", "r0^"});
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE(
    "offloading means the same for every model, level, number of micro-steps, with updates in "
    "backward or at the end") {
  for (const ModelGraph& graph :
       {chain(1, true), chain(5, false), encoder_decoder(4), pairs(4), unfused()})
    for (const auto level : {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::mlp,
                             RecomputeLevel::full})
      for (const int micro_steps : {1, 3}) {
        StepProgram p = offloaded(graph, level, micro_steps);
        CAPTURE(print(p, &graph));
        CHECK(prove(p, {&graph, momentum(), micro_steps, 1}, {.steps = 3}) == "");
        Training t{&graph, momentum(), micro_steps, 1};
        t.update_in_backward = true;
        CHECK(prove(passes::update_in_backward(std::move(p)), t, {.steps = 3}) == "");
      }
}

TEST_CASE(
    "the device holds as much of what is kept for 30 layers as for 10; the host holds the rest") {
  const auto beyond_residents = [](const StepProgram& p) {
    Bytes residents = 0;
    for (const Buffer& b : p.buffers)
      if (b.resident) residents += b.bytes();
    // gradients, of which all the layers' come together at the end, not counted
    return placed(passes::update_in_backward(p)).peak_of(Space::device) - residents;
  };
  for (const auto level : {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::full}) {
    const ModelGraph few = pairs(10), many = pairs(30);
    CAPTURE(static_cast<int>(level));
    CHECK(beyond_residents(offloaded(many, level)) == beyond_residents(offloaded(few, level)));
    const auto kept =
        passes::activation_recomputation(plain_program(many, momentum()), many, level);
    const Bytes saved = beyond_residents(kept) - beyond_residents(offloaded(many, level)),
                on_host = placed(offloaded(many, level)).peak_of(Space::host);
    CHECK(saved > on_host * 3 / 4);
    CHECK(on_host > 0);
  }
}

TEST_CASE("copies that are deleted, late or of something else are refused") {
  const ModelGraph graph = chain(4, true);
  const Training t{&graph, momentum(), 1, 1};
  const Reference reference = as_reference(t);
  const StepProgram p = offloaded(graph, RecomputeLevel::none);
  int mutants = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (p.steady[k].op != Op::copy) continue;
    StepProgram missing = p, late = p, other = p;
    missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
    CHECK(check_program(missing, unplaced(missing), &reference) != "");
    auto at = late.steady.begin() + static_cast<std::ptrdiff_t>(k);
    std::rotate(at, at + 1, late.steady.end());
    CHECK(check_program(late, unplaced(late), &reference) != "");
    for (std::size_t b = 0; b < p.buffers.size(); ++b) {
      if (static_cast<BufferId>(b) == p.steady[k].uses[0].buffer ||
          p.buffers[b].space !=
              p.buffers[static_cast<std::size_t>(p.steady[k].uses[0].buffer)].space ||
          p.buffers[b].role != Role::saved)
        continue;
      other.steady[k].uses[0].buffer = static_cast<BufferId>(b);
      CHECK(check_program(other, unplaced(other), &reference) != "");
      ++mutants;
    }
  }
  CHECK(mutants > 30);
}

}  // namespace activation_offload_test
