// Weights that are cast to fp8 once a step: which instructions make the copies and which read them.
#include "passes/passes.hpp"
#include "program/check.hpp"
#include "unit/passes/fp8_gpt2.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace casts_of_weights_test {

using namespace trainx;
using operations::Fp8Scaling;
using program::How;
using program::Instruction;
using program::Op;
using program::Role;
using program::StepProgram;
using program::Use;

namespace {

const program::UpdateSpec momentum{{{"m"}}};

program::ModelGraph gpt2(bool gpu, Fp8Scaling scaling, bool once = true) {
  return passes::fp8_gpt2(
      gpu, scaling,
      once ? operations::Fp8WeightCasts::once_a_step : operations::Fp8WeightCasts::in_each_use);
}

StepProgram program_of(const program::ModelGraph& graph, int micro_steps,
                       RecomputeLevel level = RecomputeLevel::none) {
  StepProgram p = passes::accumulation(program::plain_program(graph, momentum), micro_steps);
  return passes::casts_of_weights(passes::activation_recomputation(std::move(p), graph, level));
}

std::string problem_of(const program::ModelGraph& graph, const StepProgram& p, int micro_steps) {
  const program::Reference reference{&graph, momentum, micro_steps};
  return program::check_program(p, program::plan_memory(p), &reference);
}

const program::SlotSpec& slot_of(const program::ModelGraph& graph, const Instruction& i,
                                 const Use& u) {
  return graph.blocks[static_cast<std::size_t>(i.block)].slots[static_cast<std::size_t>(u.slot)];
}

/// "h1.mlp forward m0 >values >scale ..." of instructions that use copies of the block's weights.
std::string uses_of(const program::ModelGraph& graph, const StepProgram& p,
                    const std::string& block) {
  std::string out;
  for (const Instruction& i : p.steady) {
    if (i.block < 0 || graph.blocks[static_cast<std::size_t>(i.block)].name != block) continue;
    std::string line;
    for (const Use& u : i.uses)
      if (const auto& slot = slot_of(graph, i, u); slot.role == Role::cast_weight)
        line += (u.how == How::read ? " " : " >") + slot.name;
    out += "m" + std::to_string(i.micro) + " " + std::string(name_of(i.op)) + line + "\n";
  }
  return out;
}

/// The first use of a copy by such an instruction of the block.
Use& copy_in(const program::ModelGraph& graph, StepProgram& p, Op op, int micro,
             const std::string& block, const std::string& name) {
  for (Instruction& i : p.steady)
    if (i.op == op && i.micro == micro &&
        graph.blocks[static_cast<std::size_t>(i.block)].name == block)
      for (Use& u : i.uses)
        if (slot_of(graph, i, u).name == name) return u;
  throw std::logic_error("no such copy");
}

}  // namespace

TEST_CASE("programs that cast weights once a step mean what those do that cast them at each use") {
  for (const bool gpu : {false, true})
    for (const Fp8Scaling scaling :
         {Fp8Scaling::current, Fp8Scaling::delayed, Fp8Scaling::blocks}) {
      const program::ModelGraph graph = gpt2(gpu, scaling);
      for (const int micro_steps : {1, 2, 3})
        for (const RecomputeLevel level : {RecomputeLevel::none, RecomputeLevel::selective,
                                           RecomputeLevel::mlp, RecomputeLevel::full}) {
          CAPTURE(gpu, static_cast<int>(scaling), micro_steps, static_cast<int>(level));
          const StepProgram p = program_of(graph, micro_steps, level);
          CHECK(problem_of(graph, p, micro_steps) == "");
          for (const Instruction& i : p.steady)
            for (const Use& u : i.uses)
              if (program::is_of_block(i) && slot_of(graph, i, u).role == Role::cast_weight)
                CHECK(program::writes(u.how) == (i.op == Op::forward && i.micro == 0));
        }
    }
}

TEST_CASE("a GPU's first forward casts values and transposed copy, and all else reads them") {
  const program::ModelGraph graph = gpt2(true, Fp8Scaling::current);
  CHECK(uses_of(graph, program_of(graph, 2), "h1.mlp") ==
        "m0 forward >fp8_weight >fp8_weight_scale >fp8_weight_transposed >fp8_weight2 "
        ">fp8_weight_scale2 >fp8_weight_transposed2\n"
        "m0 backward fp8_weight_scale2 fp8_weight_transposed2 fp8_weight_scale "
        "fp8_weight_transposed\n"
        "m1 forward fp8_weight fp8_weight_scale fp8_weight_transposed fp8_weight2 "
        "fp8_weight_scale2 fp8_weight_transposed2\n"
        "m1 backward fp8_weight_scale2 fp8_weight_transposed2 fp8_weight_scale "
        "fp8_weight_transposed\n");
}

TEST_CASE("a CPU keeps one copy of a weight for forward and backward") {
  for (const Fp8Scaling scaling : {Fp8Scaling::current, Fp8Scaling::blocks}) {
    const program::ModelGraph graph = gpt2(false, scaling);
    const StepProgram p = program_of(graph, 2);
    program::Bytes bytes = 0;
    for (const program::Buffer& b : p.buffers)
      if (b.role == Role::cast_weight && b.micro == program::none && b.dtype == DType::u8)
        bytes += b.bytes();
    CHECK(bytes == 2 * (3 + 1 + 2 + 2) * 16 * 16);
  }
}

TEST_CASE("what no other instruction reads is scratch of the forward that casts") {
  const program::ModelGraph graph = gpt2(true, Fp8Scaling::current);
  StepProgram one = program_of(graph, 1);
  const auto role_of = [&](StepProgram& p, const std::string& name) {
    return p
        .buffers[static_cast<std::size_t>(copy_in(graph, p, Op::forward, 0, "h1.mlp", name).buffer)]
        .role;
  };
  CHECK(role_of(one, "fp8_weight") == Role::scratch);
  CHECK(role_of(one, "fp8_weight_scale") == Role::cast_weight);
  CHECK(role_of(one, "fp8_weight_transposed") == Role::cast_weight);
  StepProgram two = program_of(graph, 2);
  CHECK(role_of(two, "fp8_weight") == Role::cast_weight);
}

TEST_CASE("copies of another weight, and copies that nobody makes, are noticed") {
  const program::ModelGraph graph = gpt2(true, Fp8Scaling::current);
  const auto noticed = [&](const auto& damage) {
    StepProgram p = program_of(graph, 2);
    damage(p);
    return !problem_of(graph, p, 2).empty();
  };
  const auto copy = [&](StepProgram& p, Op op, int micro, const std::string& block,
                        const std::string& name) -> Use& {
    return copy_in(graph, p, op, micro, block, name);
  };
  CHECK_FALSE(noticed([](StepProgram&) {}));
  // of another layer
  for (const std::string name : {"fp8_weight", "fp8_weight_scale"})
    CHECK(noticed([&](StepProgram& p) {
      std::swap(copy(p, Op::forward, 1, "h0.mlp", name).buffer,
                copy(p, Op::forward, 1, "h1.mlp", name).buffer);
    }));
  CHECK(noticed([&](StepProgram& p) {
    std::swap(copy(p, Op::backward, 1, "h0.mlp", "fp8_weight_transposed").buffer,
              copy(p, Op::backward, 1, "h1.mlp", "fp8_weight_transposed").buffer);
  }));
  // of another layer of the same block, or the other copy: as many bytes
  CHECK(noticed([&](StepProgram& p) {
    copy(p, Op::forward, 1, "h1.mlp", "fp8_weight2").buffer =
        copy(p, Op::forward, 1, "h1.mlp", "fp8_weight").buffer;
  }));
  CHECK(noticed([&](StepProgram& p) {
    copy(p, Op::backward, 0, "h1.mlp", "fp8_weight_transposed").buffer =
        copy(p, Op::forward, 0, "h1.mlp", "fp8_weight").buffer;
  }));
  // the cast makes no transposed copy
  CHECK(noticed([&](StepProgram& p) {
    for (Instruction& i : p.steady)
      if (i.op == Op::forward && i.micro == 0)
        std::erase_if(i.uses, [&](const Use& u) {
          return slot_of(graph, i, u).name == "fp8_weight_transposed";
        });
  }));
  // nothing casts, so that a step would read the copies of the step before
  CHECK(noticed(
      [&](StepProgram& p) { copy(p, Op::forward, 0, "h1.mlp", "fp8_weight").how = How::read; }));
}

TEST_CASE("an evaluation casts weights for itself, and only the copy that forward multiplies") {
  const program::ModelGraph graph = gpt2(true, Fp8Scaling::current);
  const StepProgram train = program::plain_program(graph, momentum),
                    p = program::forward_program(train, graph, Op::evaluate);
  int casts = 0;
  for (const Instruction& i : p.steady)
    for (const Use& u : i.uses) {
      if (!program::is_of_block(i)) continue;
      const auto& slot = slot_of(graph, i, u);
      if (slot.role != Role::cast_weight) continue;
      CHECK(slot.name.find("transposed") == std::string::npos);
      CHECK(u.how == How::overwrite);
      CHECK(p.buffers[static_cast<std::size_t>(u.buffer)].role == Role::scratch);
      ++casts;
    }
  CHECK(casts == 2 * 4 * 2);
  CHECK(program::check_program(p, program::plan_memory(p)) == "");
}

TEST_CASE("without copies for a step each instruction casts weights in its own scratch") {
  const program::ModelGraph graph = gpt2(true, Fp8Scaling::blocks, false);
  const StepProgram p = program_of(graph, 2);
  CHECK(std::ranges::none_of(p.buffers,
                             [](const program::Buffer& b) { return b.role == Role::cast_weight; }));
  CHECK(problem_of(graph, p, 2) == "");
}

}  // namespace casts_of_weights_test
