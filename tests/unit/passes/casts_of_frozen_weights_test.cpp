// Weights that are cast to fp8 once a run: the program makes the copies once, and steps read them.
#include "passes/passes.hpp"
#include "program/check.hpp"
#include "program/time.hpp"
#include "unit/passes/fp8_gpt2.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace casts_of_frozen_weights_test {

using namespace trainx;
using operations::Fp8Scaling;
using program::Buffer;
using program::Instruction;
using program::ModelGraph;
using program::Op;
using program::Role;
using program::StepProgram;
using program::Use;

namespace {

const program::UpdateSpec momentum{{{"m"}}};

ModelGraph gpt2(bool gpu, Fp8Scaling scaling, const std::string& frozen = "h.*") {
  return passes::fp8_gpt2(gpu, scaling, operations::Fp8WeightCasts::once_a_run, {},
                          {{.pattern = frozen, .trained = false}});
}

StepProgram program_of(const ModelGraph& graph, int micro_steps,
                       RecomputeLevel level = RecomputeLevel::none) {
  StepProgram p = passes::accumulation(program::plain_program(graph, momentum), micro_steps);
  return passes::casts_of_weights(passes::activation_recomputation(std::move(p), graph, level));
}

std::string problem_of(const ModelGraph& graph, const StepProgram& p, int micro_steps) {
  const program::Reference reference{&graph, momentum, micro_steps};
  return program::check_program(p, program::plan_memory(p), &reference);
}

const Buffer& buffer_of(const StepProgram& p, const Use& u) {
  return p.buffers[static_cast<std::size_t>(u.buffer)];
}

/// Uses of copies that hold for the whole run: how many write them.
std::pair<int, int> uses_of_copies(const StepProgram& p, const std::vector<Instruction>& list) {
  int all = 0, writing = 0;
  for (const Instruction& i : list)
    for (const Use& u : i.uses)
      if (program::is_derived(buffer_of(p, u))) ++all, writing += program::writes(u.how);
  return {all, writing};
}

}  // namespace

TEST_CASE("frozen weights are cast once, and every step reads the copies") {
  for (const bool gpu : {false, true})
    for (const Fp8Scaling scaling : {Fp8Scaling::current, Fp8Scaling::delayed, Fp8Scaling::blocks})
      for (const std::string frozen : {"h.*", "h.0.*"}) {
        const ModelGraph graph = gpt2(gpu, scaling, frozen);
        for (const int micro_steps : {1, 3})
          for (const RecomputeLevel level : {RecomputeLevel::none, RecomputeLevel::selective,
                                             RecomputeLevel::mlp, RecomputeLevel::full}) {
            CAPTURE(gpu, static_cast<int>(scaling), frozen, micro_steps, static_cast<int>(level));
            const StepProgram p = program_of(graph, micro_steps, level);
            CHECK(problem_of(graph, p, micro_steps) == "");
            REQUIRE(p.once.size() == (frozen == "h.*" ? 4U : 2U));
            for (const Instruction& i : p.once) CHECK(i.op == Op::cast_weights);
            const auto [made, writing] = uses_of_copies(p, p.once);
            CHECK(made == writing);
            CHECK(made == std::ranges::count_if(p.buffers, program::is_derived));
            const auto [read, changed] = uses_of_copies(p, p.steady);
            CHECK(read > 0);
            CHECK(changed == 0);
          }
      }
}

TEST_CASE("copies are the last residents, and are made of weights alone") {
  const ModelGraph graph = gpt2(true, Fp8Scaling::delayed);
  const StepProgram p = program_of(graph, 2);
  const auto first = std::ranges::find_if(p.buffers, program::is_derived);
  CHECK(std::all_of(p.buffers.begin(), first, [](const Buffer& b) { return b.resident; }));
  const auto behind = std::ranges::find(first, p.buffers.end(), false, &Buffer::resident);
  CHECK(std::all_of(first, behind, program::is_derived));
  for (const Instruction& i : p.once)
    for (const Use& u : i.uses)
      if (u.how == program::How::read) CHECK(buffer_of(p, u).role == Role::parameter);
}

TEST_CASE("layers that are trained beside frozen ones are cast in each step") {
  const ModelGraph graph = gpt2(true, Fp8Scaling::current, "h.0.*");
  const StepProgram p = program_of(graph, 2);
  for (const Instruction& i : p.steady)
    for (const Use& u : i.uses) {
      const Buffer& b = buffer_of(p, u);
      if (b.role == Role::cast_weight && program::writes(u.how)) {
        CHECK(i.op == Op::forward);
        CHECK(i.micro == 0);
        CHECK(graph.blocks[static_cast<std::size_t>(i.block)].name.starts_with("h1."));
      }
    }
}

TEST_CASE("copies that nobody makes, and those of other weights, are noticed") {
  const ModelGraph graph = gpt2(true, Fp8Scaling::current);
  const auto noticed = [&](const auto& damage) {
    StepProgram p = program_of(graph, 2);
    damage(p);
    return !problem_of(graph, p, 2).empty();
  };
  CHECK_FALSE(noticed([](StepProgram&) {}));
  CHECK(noticed([](StepProgram& p) { p.once.clear(); }));
  CHECK(noticed([](StepProgram& p) { p.once.erase(p.once.begin() + 1); }));
  CHECK(noticed([](StepProgram& p) {
    std::swap(p.once[1].uses.back().buffer, p.once[3].uses.back().buffer);
  }));
  // made of another layer's weights
  CHECK(noticed([](StepProgram& p) {
    std::swap(p.once[0].uses.front().buffer, p.once[2].uses.front().buffer);
  }));
  // a step reads that of another layer
  CHECK(noticed([](StepProgram& p) {
    const program::BufferId mine = p.once[1].uses.back().buffer,
                            other = p.once[3].uses.back().buffer;
    for (Instruction& i : p.steady)
      for (Use& u : i.uses)
        if (u.buffer == mine) u.buffer = other;
  }));
}

TEST_CASE("an evaluation reads the copies of training") {
  for (const bool gpu : {false, true}) {
    const ModelGraph graph = gpt2(gpu, Fp8Scaling::delayed);
    const StepProgram train = program_of(graph, 2),
                      p = program::forward_program(train, graph, Op::evaluate);
    CHECK(program::check_program(p, program::plan_memory(p)) == "");
    const auto [read, changed] = uses_of_copies(p, p.steady);
    CHECK(read == 2 * 4 * 2);  // values and scale of each linear layer
    CHECK(changed == 0);
    CHECK(p.once.size() == train.once.size());
    for (std::size_t b = 0; b < train.buffers.size() && train.buffers[b].resident; ++b)
      CHECK(p.buffers[b].name == train.buffers[b].name);
    CHECK(std::ranges::none_of(p.buffers, [](const Buffer& b) {
      return b.role == Role::scratch && b.name.find("fp8_weight") != std::string::npos;
    }));
  }
}

TEST_CASE("steps take the time of what they do not cast") {
  const ModelGraph once = gpt2(true, Fp8Scaling::current),
                   each = passes::fp8_gpt2(true, Fp8Scaling::current,
                                           operations::Fp8WeightCasts::once_a_step, {},
                                           {{.pattern = "h.*", .trained = false}});
  program::Rates rates;
  rates.gemm_flops_per_s = 1e12;
  rates.memory_bytes_per_s = 1e9;
  rates.kernel_s = 1e-6;
  const auto seconds = [&](const ModelGraph& graph) {
    const StepProgram p = program_of(graph, 2);
    const program::Placement at = program::plan_memory(p);
    return program::predict_time(p, program::derive_order(p, at), graph, rates).step_s;
  };
  CHECK(seconds(once) < seconds(each));
}

}  // namespace casts_of_frozen_weights_test
