#include "program/copied_gathers.hpp"
#include "passes/passes.hpp"
#include "program/launch.hpp"
#include "program/operations.hpp"
#include "program/order.hpp"
#include "program/print.hpp"
#include "support/catch.hpp"
#include "program/shards.hpp"
#include "support/toy/prove.hpp"
#include "unit/passes/fp8_gpt2.hpp"
#include <random>

namespace copied_gathers_test {

using namespace toy;

namespace {

struct Interval {
  double begin = 0, end = 0;
};

/// Ranks of one program whose instructions take as long as chance has it. Lanes keep their order,
/// launches follow each other on each rank, a collective ends nowhere before all have begun it.
/// What is wrong with gathers that are `copied`: "" or a sentence.
std::string race(const StepProgram& p, const std::vector<bool>& copied, int world,
                 std::mt19937& random) {
  const Order order = derive_order(p, unplaced(p));
  const std::size_t count = p.steady.size();
  std::array<std::vector<std::size_t>, lane_count> in_lane;
  for (std::size_t k = 0; k < count; ++k)
    in_lane[static_cast<std::size_t>(p.steady[k].lane)].push_back(k);
  std::uniform_real_distribution<double> exponent(-3, 3);
  constexpr int launches = 3;
  // by rank and position over all launches
  std::vector<std::vector<Interval>> times(static_cast<std::size_t>(world));
  std::vector<double> launched(static_cast<std::size_t>(world));
  for (int launch = 0; launch < launches; ++launch) {
    std::vector<std::array<double, lane_count>> lane_ends(static_cast<std::size_t>(world));
    for (std::size_t r = 0; r < times.size(); ++r) lane_ends[r].fill(launched[r]);
    for (std::size_t k = 0; k < count; ++k) {
      const Instruction& i = p.steady[k];
      const bool meets = is_collective(i.op) && !copied[k];
      double all_begun = 0;
      for (std::size_t r = 0; r < times.size(); ++r) {
        double begin = lane_ends[r][static_cast<std::size_t>(i.lane)];
        for (const Wait& w : order.steady[k])
          if (w.back == 0) {
            const std::size_t other =
                in_lane[static_cast<std::size_t>(w.lane)][static_cast<std::size_t>(w.index)];
            begin = std::max(begin, times[r][static_cast<std::size_t>(launch) * count + other].end);
          }
        times[r].push_back({begin, 0});
        all_begun = std::max(all_begun, begin);
      }
      for (std::size_t r = 0; r < times.size(); ++r) {
        Interval& t = times[r].back();
        t.end = (meets ? all_begun : t.begin) + std::exp2(exponent(random));
        lane_ends[r][static_cast<std::size_t>(i.lane)] = t.end;
        launched[r] = std::max(launched[r], t.end);
      }
    }
  }
  for (std::size_t g = 0; g < launches * count; ++g) {
    if (!copied[g % count]) continue;
    const Instruction& gather = p.steady[g % count];
    for (std::size_t w = 0; w < launches * count; ++w) {
      const bool writes_it = std::ranges::any_of(p.steady[w % count].uses, [&](const Use& u) {
        return writes(u.how) && std::ranges::any_of(gather.uses, [&](const Use& s) {
                 return s.slot % 2 == 0 && s.buffer == u.buffer;
               });
      });
      if (!writes_it) continue;
      for (std::size_t a = 0; a < times.size(); ++a)
        for (std::size_t b = 0; b < times.size(); ++b)
          if (w < g ? times[b][w].end > times[a][g].begin : times[b][w].begin < times[a][g].end)
            return "rank " + std::to_string(a) + " copies at " + std::to_string(g) + " what rank " +
                   std::to_string(b) + " writes at " + std::to_string(w);
    }
  }
  return "";
}

std::ptrdiff_t gathers(const StepProgram& p) {
  return std::ranges::count_if(p.steady, [](const Instruction& i) { return i.op == Op::gather; });
}

}  // namespace

TEST_CASE("shards are copied only while no rank writes them, however fast each one is") {
  const auto seed = GENERATE(range(1u, 4u));
  std::mt19937 random(seed);
  INFO("seed " << seed);
  for (const ModelGraph& graph :
       {chain(3, true), encoder_decoder(3), with_loss_scale(chain(2, true))})
    for (const int stage : {1, 2, 3})
      for (const int world : {2, 4})
        for (const int shards : {world, 2})
          for (const int micro_steps : {1, 3})
            for (const bool early : {false, true})
              for (const DType exchanged : {DType::f32, DType::bf16}) {
                StepProgram p = passes::accumulation(plain_program(graph, momentum()), micro_steps);
                p = passes::activation_recomputation(p, graph, RecomputeLevel::full);
                p = passes::zero(p, graph, momentum(), {{world, shards}}, {stage});
                if (early) p = passes::update_in_backward(p);
                p = passes::lower_collectives(p, exchanged);
                const std::vector<bool> copied = copied_gathers(p);
                CAPTURE(stage, world, shards, micro_steps, early, print(p, &graph));
                // all but the first one, which the ranks meet at
                CHECK(std::ranges::count(copied, true) == gathers(p) - 1);
                REQUIRE(launch_begin(p) == 0);
                for (int repeat = 0; repeat < 5; ++repeat)
                  CHECK(race(p, copied, world, random) == "");
              }
}

TEST_CASE("shards that a step casts are copied once all ranks have cast theirs") {
  const auto seed = GENERATE(range(1u, 4u));
  std::mt19937 random(seed);
  INFO("seed " << seed);
  for (const auto scaling : {operations::Fp8Scaling::current, operations::Fp8Scaling::delayed})
    for (const int world : {2, 4})
      for (const int micro_steps : {1, 3}) {
        const ModelGraph graph =
            divisible(passes::fp8_gpt2(true, scaling, operations::Fp8WeightCasts::before_gathers),
                      {2, 2}, Unit::element);
        StepProgram p = passes::accumulation(plain_program(graph, momentum()), micro_steps);
        p = passes::zero(p, graph, momentum(), {{world, 2}}, {3});
        p = passes::lower_collectives(p, DType::f32);
        const std::vector<bool> copied = copied_gathers(p);
        CAPTURE(world, micro_steps, print(p, &graph));
        const Placement at = plan_memory(p);
        // but for the first, and the first of what was cast, which the ranks meet at
        std::ptrdiff_t waited_for = 0;
        for (std::size_t k = 0; k < copied.size(); ++k) {
          if (p.steady[k].op != Op::gather) continue;
          waited_for += !copied[k];
          for (const Use& u : p.steady[k].uses) {
            const auto shard = static_cast<std::size_t>(u.buffer);
            if (!p.buffers[shard].read_by_peers) continue;
            // ranks may still copy it while this one goes on: nothing else lies there
            for (std::size_t b = 0; b < p.buffers.size(); ++b)
              if (b != shard && p.buffers[b].space == Space::device)
                CHECK((at.base[b] + p.buffers[b].bytes() <= at.base[shard] ||
                       at.base[b] >= at.base[shard] + p.buffers[shard].bytes()));
          }
        }
        CHECK(waited_for <= 2);
        for (int repeat = 0; repeat < 5; ++repeat) CHECK(race(p, copied, world, random) == "");
      }
}

TEST_CASE("a first gather that is copied races with the launch before, and the test sees it") {
  std::mt19937 random(11);
  const ModelGraph graph = chain(3, true);
  StepProgram p = passes::zero(plain_program(graph, momentum()), graph, momentum(), {{2, 2}}, {3});
  std::vector<bool> all(p.steady.size());
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = p.steady[k].op == Op::gather;
  bool seen = false;
  for (int repeat = 0; repeat < 50; ++repeat) seen = seen || !race(p, all, 2, random).empty();
  CHECK(seen);
}

TEST_CASE("shards that lie on the host, or that nobody waits for, are gathered by all") {
  const ModelGraph graph = chain(2, true);
  const StepProgram p =
      passes::zero(plain_program(graph, momentum()), graph, momentum(), {{2, 2}}, {3});
  StepProgram on_host = p;
  for (Buffer& b : on_host.buffers)
    if (b.role == Role::parameter && b.resident) b.space = Space::host;
  CHECK(std::ranges::count(copied_gathers(on_host), true) == 0);
  StepProgram alone = p;
  std::erase_if(alone.steady,
                [](const Instruction& i) { return i.op == Op::scatter || i.op == Op::reduce; });
  CHECK(std::ranges::count(copied_gathers(alone), true) == 0);
}

}  // namespace copied_gathers_test
