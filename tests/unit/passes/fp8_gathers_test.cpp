// Weights that ranks cast to fp8 before they gather them.
#include "passes/passes.hpp"
#include "core/error.hpp"
#include "program/check.hpp"
#include "program/operations.hpp"
#include "program/print.hpp"
#include "program/shards.hpp"
#include "support/catch.hpp"
#include "unit/passes/fp8_gpt2.hpp"
#include <algorithm>
#include <set>
#include <tuple>

namespace fp8_gathers_test {

using namespace trainx;
using namespace trainx::program;
using operations::Fp8Scaling;

namespace {

const UpdateSpec momentum{{{"m"}}};

ModelGraph gpt2(bool gpu, Fp8Scaling scaling, int shards,
                const std::set<std::string>& left_out = {}) {
  return divisible(
      passes::fp8_gpt2(gpu, scaling, operations::Fp8WeightCasts::before_gathers, left_out),
      {shards, shards}, Unit::element);
}

StepProgram program_of(const ModelGraph& graph, const Mesh& mesh, int micro_steps,
                       RecomputeLevel level = RecomputeLevel::none) {
  StepProgram p = passes::accumulation(plain_program(graph, momentum), micro_steps);
  p = passes::activation_recomputation(std::move(p), graph, level);
  p = passes::casts_of_weights(std::move(p));
  p = passes::zero(std::move(p), graph, momentum, {mesh}, {3});
  return passes::lower_collectives(std::move(p), DType::f32);
}

std::string problem_of(const ModelGraph& graph, const StepProgram& p, int micro_steps) {
  const Reference reference{&graph, momentum, micro_steps};
  return check_program(p, plan_memory(p), &reference);
}

const Buffer& buffer_of(const StepProgram& p, const Use& u) {
  return p.buffers[static_cast<std::size_t>(u.buffer)];
}

/// visit(shard, all of it) of each thing that the instruction gathers.
template <class Visit>
void each_gathered(const Instruction& i, const Visit& visit) {
  for (int k = 0; i.op == Op::gather && find_use(i, ShardSlot::from(k)); ++k)
    visit(use_of(i, ShardSlot::from(k)), use_of(i, ShardSlot::to(k)));
}

Instruction& first(StepProgram& p, Op op) {
  return *std::ranges::find(p.steady, op, &Instruction::op);
}

}  // namespace

TEST_CASE("ranks that gather weights in fp8 train as one that casts them") {
  for (const bool gpu : {false, true})
    for (const Fp8Scaling scaling : {Fp8Scaling::current, Fp8Scaling::delayed})
      for (const auto& [world, shards] : {std::pair{2, 2}, {3, 3}, {4, 2}})
        for (const int micro_steps : {1, 2})
          for (const RecomputeLevel level :
               {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::full}) {
            const ModelGraph graph = gpt2(gpu, scaling, shards);
            const StepProgram p = program_of(graph, {world, shards}, micro_steps, level);
            CAPTURE(gpu, static_cast<int>(scaling), world, shards, micro_steps,
                    static_cast<int>(level), print(p, &graph));
            CHECK(problem_of(graph, p, micro_steps) == "");
          }
}

TEST_CASE("a byte of each weight goes between ranks, and blocks read what was gathered") {
  const ModelGraph graph = gpt2(true, Fp8Scaling::current, 2);
  const StepProgram p = program_of(graph, {2, 2}, 1);
  Bytes in_fp8 = 0, others = 0;
  for (const Instruction& i : p.steady)
    each_gathered(i, [&](const Use&, const Use& to) {
      const Buffer& b = buffer_of(p, to);
      const GroupSpec& group = graph.groups[static_cast<std::size_t>(b.index)];
      CHECK(b.dtype == (group.fp8 ? DType::u8 : DType::bf16));
      CHECK(b.elements == group.elements);
      (group.fp8 ? in_fp8 : others) += b.bytes();
    });
  // attention's two weights and the MLP's two, of two layers, gathered twice but for the last
  // layer, whose backward follows its forward
  constexpr Bytes layer = (3 + 1 + 2 + 2) * 16 * 16;
  CHECK(in_fp8 >= 3 * layer);
  CHECK(in_fp8 <= 4 * layer + 8 * 2 * group_alignment);
  CHECK(others > 0);
  for (const Instruction& i : p.steady)
    for (const Use& u : i.uses)
      if (i.block != none && buffer_of(p, u).role == Role::parameter)
        CHECK_FALSE(buffer_of(p, u).is_cut());
}

TEST_CASE("scales that ranks do not share, and casts behind their gather, are found") {
  const ModelGraph graph = gpt2(true, Fp8Scaling::delayed, 2);
  StepProgram alone = program_of(graph, {2, 2}, 2);
  std::erase_if(alone.steady, [&](const Instruction& i) {
    return i.op == Op::reduce && buffer_of(alone, i.uses.front()).role == Role::fp8_scales;
  });
  CHECK(problem_of(graph, alone, 2) != "");

  StepProgram late = program_of(graph, {2, 2}, 2);
  const auto quantize = std::ranges::find(late.steady, Op::quantize, &Instruction::op);
  const auto behind = std::ranges::find_if(late.steady, [&](const Instruction& i) {
    bool in_fp8 = false;
    each_gathered(i, [&](const Use& from, const Use&) {
      in_fp8 |= buffer_of(late, from).dtype == DType::u8;
    });
    return in_fp8;
  });
  REQUIRE(quantize < behind);
  std::rotate(quantize, quantize + 1, behind + 1);
  CHECK(problem_of(graph, late, 2) != "");

  StepProgram forgotten = program_of(graph, {2, 2}, 2);
  std::erase_if(first(forgotten, Op::quantize).uses,
                [](const Use& u) { return u.slot == QuantizeSlot::ranges; });
  CHECK(problem_of(graph, forgotten, 2) != "");
}

TEST_CASE("groups are the same whatever is left out, and a block casts all its weights or none") {
  const ModelGraph all = gpt2(true, Fp8Scaling::delayed, 2),
                   some = gpt2(true, Fp8Scaling::delayed, 2, {"h.0.attn.c_proj.weight"});
  REQUIRE(all.groups.size() == some.groups.size());
  int in_fp8 = 0, taken_back = 0;
  for (std::size_t g = 0; g < all.groups.size(); ++g) {
    const GroupSpec &a = all.groups[g], &b = some.groups[g];
    CHECK(a.name == b.name);
    CHECK(a.elements == b.elements);
    CHECK(a.parameters.size() == b.parameters.size());
    in_fp8 += a.fp8;
    taken_back += a.fp8 && !b.fp8;
    CHECK((!b.fp8 || a.fp8));
    std::set<int> scales;
    for (const ParameterSpec& p : a.parameters) {
      CHECK((p.fp8_scale != none) == a.fp8);
      if (a.fp8) CHECK(scales.insert(p.fp8_scale).second);
    }
  }
  CHECK(in_fp8 == 4);
  CHECK(taken_back == 1);
  for (const Mesh mesh : {Mesh{2, 2}, Mesh{4, 2}})
    CHECK(problem_of(some, program_of(some, mesh, 2), 2) == "");
}

TEST_CASE("evaluation casts and gathers alike") {
  const ModelGraph graph = gpt2(false, Fp8Scaling::current, 2);
  StepProgram p = forward_program(plain_program(graph, momentum), graph, Op::evaluate);
  p = passes::zero(std::move(p), graph, momentum, {{2, 2}}, {3});
  CHECK(check_program(p, plan_memory(p), nullptr) == "");
  int gathered = 0;
  for (const Instruction& i : p.steady)
    each_gathered(
        i, [&](const Use& from, const Use&) { gathered += buffer_of(p, from).dtype == DType::u8; });
  CHECK(gathered == 4);
}

TEST_CASE("what shares a scale is one run, cut where a shard ends") {
  GroupSpec group{.name = "g", .elements = 1024, .fp8 = true};
  for (const auto& [offset, elements, scale] :
       {std::tuple{0, 256, 3}, {256, 256, 3}, {512, 128, 4}, {640, 256, 5}})
    group.parameters.push_back({.dims = {elements}, .offset = offset, .fp8_scale = scale});
  const auto runs_of = [&](const GroupSpec& of) {
    std::vector<std::tuple<int, std::int64_t, std::int64_t>> runs;
    for (const ScaledRun& r : scaled_runs(of)) runs.emplace_back(r.scale, r.offset, r.elements);
    return runs;
  };
  using Runs = std::vector<std::tuple<int, std::int64_t, std::int64_t>>;
  CHECK(runs_of(group) == Runs{{3, 0, 512}, {4, 512, 128}, {5, 640, 256}});
  CHECK(runs_of(shard_of(group, 0, 4)) == Runs{{3, 0, 256}});
  CHECK(runs_of(shard_of(group, 2, 4)) == Runs{{4, 0, 128}, {5, 128, 128}});
  CHECK(runs_of(shard_of(group, 3, 4)) == Runs{{5, 0, 128}});
}

}  // namespace fp8_gathers_test
