// Frozen weights that are cast once a run lie on the host, and pass through the device one group at
// a time.
#include "passes/passes.hpp"
#include "program/check.hpp"
#include "unit/passes/fp8_gpt2.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace frozen_weight_offload_test {

using namespace trainx;
using operations::Fp8Scaling;
using program::Buffer;
using program::BufferId;
using program::Bytes;
using program::Instruction;
using program::ModelGraph;
using program::Op;
using program::Role;
using program::Space;
using program::StepProgram;
using program::Use;

namespace {

const program::UpdateSpec momentum{{{"m"}}};

ModelGraph gpt2(bool gpu, Fp8Scaling scaling = Fp8Scaling::current,
                const std::string& frozen = "h.*", bool copies_suffice = true,
                const std::set<std::string>& left_out = {}) {
  return passes::fp8_gpt2(gpu, scaling, operations::Fp8WeightCasts::once_a_run, left_out,
                          {{.pattern = frozen, .trained = false}}, copies_suffice);
}

StepProgram before(const ModelGraph& graph, int micro_steps = 2,
                   RecomputeLevel level = RecomputeLevel::none) {
  StepProgram p = passes::accumulation(program::plain_program(graph, momentum), micro_steps);
  return passes::casts_of_weights(passes::activation_recomputation(std::move(p), graph, level));
}

std::string problem_of(const ModelGraph& graph, const StepProgram& p, int micro_steps = 2) {
  const program::Reference reference{&graph, momentum, micro_steps};
  return program::check_program(p, program::plan_memory(p), &reference);
}

const Buffer& buffer_of(const StepProgram& p, const Use& u) {
  return p.buffers[static_cast<std::size_t>(u.buffer)];
}

Bytes resident_weights(const StepProgram& p, Space space) {
  Bytes all = 0;
  for (const Buffer& b : p.buffers)
    if (b.role == Role::parameter && b.resident && b.space == space) all += b.bytes();
  return all;
}

Bytes peak(const StepProgram& p) { return program::plan_memory(p).peak_of(Space::device); }

}  // namespace

TEST_CASE("only frozen weights that are cast once a run leave the device") {
  for (const bool gpu : {false, true})
    for (const Fp8Scaling scaling : {Fp8Scaling::current, Fp8Scaling::delayed, Fp8Scaling::blocks})
      for (const std::string frozen : {"h.*", "h.0.*"})
        for (const int micro_steps : {1, 3})
          for (const RecomputeLevel level :
               {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::full}) {
            CAPTURE(gpu, static_cast<int>(scaling), frozen, micro_steps, static_cast<int>(level));
            const ModelGraph graph = gpt2(gpu, scaling, frozen);
            const StepProgram all = before(graph, micro_steps, level),
                              p = passes::frozen_weight_offload(all);
            CHECK(problem_of(graph, p, micro_steps) == "");
            // 8 d^2 elements of a layer's matrices, in bf16
            const int layers = frozen == "h.*" ? 2 : 1;
            const Bytes weights = Bytes{2} * 8 * 16 * 16 * layers;
            CHECK(resident_weights(p, Space::host) == weights);
            CHECK(resident_weights(p, Space::device) ==
                  resident_weights(all, Space::device) - weights);
            for (const Instruction& i : p.steady)
              for (const Use& u : i.uses) CHECK(buffer_of(p, u).space == Space::device);
          }
}

TEST_CASE("a group passes through the device when it is cast, and shares its bytes") {
  const ModelGraph graph = gpt2(true);
  const StepProgram all = before(graph), p = passes::frozen_weight_offload(all);
  REQUIRE(p.once.size() == 2 * all.once.size());
  Bytes largest = 0;
  for (std::size_t k = 0; k < p.once.size(); k += 2) {
    const Instruction &copy = p.once[k], &casts = p.once[k + 1];
    REQUIRE(copy.op == Op::copy);
    REQUIRE(casts.op == Op::cast_weights);
    CHECK(buffer_of(p, copy.uses[0]).space == Space::host);
    const BufferId staging = copy.uses[1].buffer;
    CHECK_FALSE(buffer_of(p, copy.uses[1]).resident);
    CHECK(std::ranges::count(casts.uses, staging, &Use::buffer) == 1);
    largest = std::max(largest, buffer_of(p, copy.uses[1]).bytes());
  }
  const Bytes weights = resident_weights(p, Space::host);
  CHECK(peak(p) + weights <= peak(all) + largest);
  CHECK(peak(p) < peak(all));
}

TEST_CASE("the peak of a run's beginning counts where a step takes less") {
  const ModelGraph graph = gpt2(true);
  StepProgram p = passes::frozen_weight_offload(before(graph));
  p.steady.clear();
  Bytes residents = 0, largest = 0;
  for (const Buffer& b : p.buffers)
    if (b.space == Space::device && b.resident) residents += b.bytes();
  for (const Instruction& i : p.once)
    if (i.op == Op::copy) largest = std::max(largest, buffer_of(p, i.uses[1]).bytes());
  CHECK(peak(p) >= residents + largest);
}

TEST_CASE("weights that something else reads stay") {
  // nobody says that copies suffice: an evaluation may compute in another type
  const ModelGraph another = gpt2(true, Fp8Scaling::current, "h.*", false);
  StepProgram p = passes::frozen_weight_offload(before(another));
  CHECK(resident_weights(p, Space::host) == 0);
  CHECK(p.once.size() == before(another).once.size());
  // a product that fell back to bf16 reads its weight in each step: 3 d^2
  const ModelGraph fallen =
      gpt2(true, Fp8Scaling::delayed, "h.*", true, {"h.0.attn.c_attn.weight"});
  p = passes::frozen_weight_offload(before(fallen));
  CHECK(problem_of(fallen, p) == "");
  CHECK(resident_weights(p, Space::host) == Bytes{2} * (2 * 8 - 3) * 16 * 16);
  // a step reads the first group for whatever reason
  const ModelGraph graph = gpt2(true);
  StepProgram reads = before(graph);
  const Use first = reads.once[0].uses[0];
  REQUIRE(buffer_of(reads, first).role == Role::parameter);
  reads.steady.back().uses.push_back(first);
  p = passes::frozen_weight_offload(reads);
  CHECK(buffer_of(p, first).space == Space::device);
  CHECK(resident_weights(p, Space::host) ==
        Bytes{2} * 2 * 8 * 16 * 16 - buffer_of(p, first).bytes());
}

TEST_CASE("copies that are not made, and those of other weights, are noticed") {
  const ModelGraph graph = gpt2(true);
  const auto noticed = [&](const auto& damage) {
    StepProgram p = passes::frozen_weight_offload(before(graph));
    damage(p);
    return !problem_of(graph, p).empty();
  };
  CHECK_FALSE(noticed([](StepProgram&) {}));
  CHECK(noticed([](StepProgram& p) { p.once.erase(p.once.begin()); }));
  CHECK(noticed(
      [](StepProgram& p) { std::swap(p.once[0].uses[0].buffer, p.once[4].uses[0].buffer); }));
  // cast before it came
  CHECK(noticed([](StepProgram& p) { std::swap(p.once[2], p.once[3]); }));
}

TEST_CASE("evaluation, and an optimizer on the host, go with it") {
  for (const bool gpu : {false, true}) {
    const ModelGraph graph = gpt2(gpu, Fp8Scaling::delayed, "h.0.*");
    const StepProgram train = before(graph);
    const StepProgram evaluate = passes::frozen_weight_offload(
        program::forward_program(program::plain_program(graph, momentum), graph, Op::evaluate));
    CHECK(program::check_program(evaluate, program::plan_memory(evaluate)) == "");
    const StepProgram p = passes::frozen_weight_offload(train);
    for (std::size_t b = 0; b < p.buffers.size() && p.buffers[b].resident; ++b) {
      CHECK(evaluate.buffers[b].name == p.buffers[b].name);
      CHECK(evaluate.buffers[b].space == p.buffers[b].space);
    }
    passes::OptimizerOffloadOptions offload;
    for (const program::GroupSpec& group : graph.groups)
      offload.locations.push_back(group.training.trained ? passes::OptimizerLocation::host
                                                         : passes::OptimizerLocation::device);
    const StepProgram both =
        passes::frozen_weight_offload(passes::optimizer_offload(train, offload));
    CHECK(problem_of(graph, both) == "");
  }
}

}  // namespace frozen_weight_offload_test
