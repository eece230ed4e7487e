#include "architectures/architecture.hpp"
#include "architectures/gpt2.hpp"
#include "core/error.hpp"
#include "passes/passes.hpp"
#include "program/frozen.hpp"
#include "program/print.hpp"
#include "program/shards.hpp"
#include "support/catch.hpp"
#include "support/toy/printed.hpp"
#include "support/toy/prove.hpp"
#include "support/toy/text.hpp"
#include <map>

namespace zero_test {

using namespace toy;
using passes::ReduceOptions;

namespace {

struct Sharded {
  ModelGraph graph;
  UpdateSpec update;
  Training training;
  StepProgram program;
  Sharded(const ModelGraph& g, const UpdateSpec& u, int stage, const ReduceOptions& how,
          int micro_steps = 1, RecomputeLevel level = RecomputeLevel::none)
      : graph(g),
        update(u),
        training{&graph, update, micro_steps, how.mesh.world},
        program(passes::zero(
            passes::activation_recomputation(
                passes::accumulation(plain_program(graph, update), micro_steps), graph, level),
            graph, update, how, {stage})) {}
  Sharded(const Sharded&) = delete;
};

std::string problem_of(const StepProgram& p, const Training& t) {
  const Reference reference = as_reference(t);
  return check_program(p, unplaced(p), &reference);
}

Bytes peak_of(const StepProgram& p) {
  return plan_memory(p, {.alignment = 1, .overlap = 0}).peak_of(Space::device);
}

/// A GPT-2 of which the embeddings and the last norm are trained.
ModelGraph with_frozen_layers() {
  architectures::GraphOptions options = architectures::GraphOptions::on_cpu(1);
  options.passes.rules = {{.pattern = "h.*", .trained = false}};
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = 2,
                                                         .num_heads = 2,
                                                         .hidden_size = 16,
                                                         .intermediate_size = 32,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 4, 4, DType::f32, options);
}

bool is_exchange(const Instruction& i) { return is_collective(i.op); }

}  // namespace

TEST_CASE("stage 1 scatters what a step has summed and gathers weights once") {
  const Sharded s(chain(1, true), momentum(), 1, {{2, 2}}, 2);
  CHECK(squeezed(print(s.program, &s.graph)) ==
        "m0 gather @communication w.tied/ > w.tied\n"
        "m0 gather @communication w.b1/ > w.b1\n" +
            printed_micro_step(0) +
            "m1 fetch_batch step > x target\n"
            "m1 forward embed x w.tied > h0\n"
            "m1 forward b1 h0 w.b1 > h1 b1.u b1.z\n"
            "m1 loss head h1 w.tied target > dh1 + g.tied + loss_sum + target_count\n"
            "reduce @communication > ~ loss_sum ~ target_count\n"
            "m1 backward b1 b1.u b1.z dh1 w.b1 > dh0 + g.b1\n"
            "scatter @communication g.b1 > = g.b1/\n"
            "m1 backward embed x dh0 > + g.tied\n"
            "scatter @communication g.tied > = g.tied/\n"
            "advance_step > ~ step\n"
            "grad_norm g.tied/ g.b1/ > norm2\n"
            "reduce @communication > ~ norm2\n"
            "update tied g.tied/ norm2 target_count applied lr_table > ~ m.tied/ ~ w.tied/\n"
            "update b1 g.b1/ norm2 target_count applied lr_table > ~ m.b1/ ~ w.b1/\n"
            "advance_applied norm2 > ~ applied\n"
            "report loss_sum target_count norm2 applied lr_table\n");
  CHECK(prove(s.program, s.training) == "");
}

TEST_CASE(
    "stage 3 gathers weights one block ahead of each use; stage 2 and 3 scatter each micro-step's "
    "gradients") {
  const Sharded s(chain(3, true), momentum(), 3, {{3, 3}}, 2, RecomputeLevel::full);
  const std::string text = squeezed(print(s.program, &s.graph));
  CAPTURE(text);
  CHECK(
      text.starts_with("m0 gather @communication w.tied/ > w.tied\n"
                       "m0 fetch_batch step > x target\n"
                       "m0 gather @communication w.b1/ > w.b1\n"
                       "m0 forward embed x w.tied > h0\n"
                       "m0 gather @communication w.b2/ > w.b2\n"
                       "m0 forward b1 h0 w.b1 > h1\n"
                       "m0 gather @communication w.b3/ > w.b3\n"
                       "m0 forward b2 h1 w.b2 > h2\n"
                       "m0 gather @communication w.tied/ > w.tied^\n"
                       "m0 forward b3 h2 w.b3 > h3\n"
                       "m0 loss head h3 w.tied^ target > dh3 = g.tied loss_sum target_count\n"
                       "m0 gather @communication w.b2/ > w.b2^\n"
                       "m0 recompute b3 h2 w.b3 > b3.u b3.z\n"
                       "m0 backward b3 b3.u b3.z dh3 w.b3 > dh2 = g.b3\n"
                       "m0 scatter @communication g.b3 > = g.b3/\n"));
  CHECK(text.find("m1 scatter @communication g.b3^1 > + g.b3/\n") != std::string::npos);
  CHECK(prove(s.program, s.training) == "");
}

TEST_CASE(
    "stage 3 keeps weights for as long as it is told to: fewer gathers, more memory, the same "
    "meaning") {
  const ModelGraph graph = chain(6, true);
  const StepProgram accumulated = passes::accumulation(plain_program(graph, momentum()), 2);
  const StepProgram plain =
      passes::activation_recomputation(accumulated, graph, RecomputeLevel::full);
  const auto gathers = [](const StepProgram& p) {
    return std::ranges::count_if(p.steady, [](const Instruction& i) { return i.op == Op::gather; });
  };
  std::ptrdiff_t before = 1000;
  Bytes least = 0;
  for (const int turns : {0, 6, 1000}) {
    const StepProgram p = passes::zero(plain, graph, momentum(), {{2, 2}}, {3, turns});
    CAPTURE(turns, print(p, &graph));
    CHECK(gathers(p) < before);
    CHECK(peak_of(p) >= least);
    before = gathers(p);
    least = peak_of(p);
    CHECK(prove(p, Training{&graph, momentum(), 2, 2}) == "");
  }
  CHECK(before == static_cast<std::ptrdiff_t>(graph.groups.size()));
}

TEST_CASE(
    "shards mean what one rank's training over all micro-batches means, in every stage, in "
    "whatever buckets and with every other method") {
  for (const ModelGraph& graph : {chain(3, true), chain(3, false), encoder_decoder(3), pairs(3),
                                  with_loss_scale(chain(2, true))})
    for (const int stage : {1, 2, 3})
      for (const auto level :
           {RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::full})
        for (const int world : {1, 2, 3})
          for (const int micro_steps : {1, 3})
            for (const ReduceOptions& how :
                 {ReduceOptions{{world, world}}, ReduceOptions{{world, world}, 1 << 20}}) {
              UpdateSpec update = momentum();
              if (stage == 2) update.master = Master::fp32;
              Sharded s(graph, update, stage, how, micro_steps, level);
              s.training.overflow = {1, world - 1};
              CAPTURE(stage, world, micro_steps, how.bucket_bytes, print(s.program, &graph));
              CHECK(prove(passes::lower_collectives(std::move(s.program),
                                                    how.bucket_bytes ? DType::bf16 : DType::f32),
                          s.training,
                          {.steps = 3,
                           .on_lanes = world > 1,
                           .placements = {{.alignment = 8, .overlap = 1}}}) == "");
            }
}

TEST_CASE("an optimizer that updates whole tensors sums over them, and the sums over ranks") {
  const Sharded s(chain(1, true), over_tensors(true), 2, {{2, 2}});
  const std::string text = squeezed(print(s.program, &s.graph));
  CAPTURE(text);
  CHECK(text.find("reduce @communication > ~ norm2\n"
                  "measure tied g.tied/ norm2 target_count applied lr_table m.tied/ row.tied "
                  "master.tied/ w.tied/ > sums0.tied\n"
                  "measure b1 g.b1/ norm2 target_count applied lr_table m.b1/ row.b1 master.b1/ "
                  "w.b1/ > sums0.b1\n"
                  "reduce @communication > ~ sums0.tied ~ sums0.b1\n"
                  "measure tied g.tied/ norm2 target_count applied lr_table m.tied/ master.tied/ "
                  "w.tied/ sums0.tied > ~ row.tied sums1.tied\n"
                  "measure b1 g.b1/ norm2 target_count applied lr_table m.b1/ master.b1/ w.b1/ "
                  "sums0.b1 > ~ row.b1 sums1.b1\n"
                  "reduce @communication > ~ sums1.tied ~ sums1.b1\n"
                  "update tied g.tied/ norm2 target_count applied lr_table row.tied sums0.tied "
                  "sums1.tied > ~ m.tied/ ~ master.tied/ ~ w.tied/\n") != std::string::npos);
}

TEST_CASE(
    "updates of whole tensors in shards mean what one rank's do; without any one of their "
    "instructions, or with an exchange twice, they do not") {
  for (const bool with_state : {false, true})
    for (const int stage : {1, 2, 3})
      for (const int world : {2, 3}) {
        const Sharded s(chain(2, true), over_tensors(with_state), stage, {{world, world}}, 2,
                        RecomputeLevel::full);
        CAPTURE(with_state, stage, world, print(s.program, &s.graph));
        REQUIRE(problem_of(s.program, s.training) == "");
        const Reference reference = as_reference(s.training);
        CHECK(check_program(s.program, plan_memory(s.program), &reference) == "");
        if (world > 2) continue;
        for (std::size_t k = 0; k < s.program.steady.size(); ++k) {
          CAPTURE(k);
          StepProgram missing = s.program;
          missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
          CHECK(problem_of(missing, s.training) != "");
          if (!is_exchange(s.program.steady[k])) continue;
          StepProgram twice = s.program;
          twice.steady.insert(twice.steady.begin() + static_cast<std::ptrdiff_t>(k),
                              s.program.steady[k]);
          CHECK(problem_of(twice, s.training) != "");
        }
      }
}

TEST_CASE(
    "shards in groups: gathered and scattered within one, summed between those that hold the "
    "same") {
  const ModelGraph graph = chain(2, true);
  const StepProgram plain = passes::accumulation(plain_program(graph, momentum()), 2);
  const StepProgram p = passes::zero(plain, graph, momentum(), {{4, 2}}, {2});
  const std::string text = squeezed(print(p, &graph));
  CAPTURE(text);
  CHECK(text.starts_with("m0 gather among shards @communication w.tied/ > w.tied\n"));
  CHECK(text.find("m0 scatter among shards @communication g.b2 > = g.b2/\n"
                  "m0 backward b1") != std::string::npos);
  CHECK(text.find("m1 scatter among shards @communication g.b2^1 > + g.b2/\n"
                  "reduce among replicas @communication > ~ g.b2/\n") != std::string::npos);
  CHECK(text.find("reduce @communication > ~ loss_sum ~ target_count\n") != std::string::npos);
  CHECK(text.find("reduce among shards @communication > ~ norm2\n") != std::string::npos);
  for (const auto& [world, shards] :
       {std::pair{4, 2}, std::pair{6, 3}, std::pair{6, 2}, std::pair{4, 1}})
    for (const int stage : {1, 2, 3})
      for (const int micro_steps : {1, 3})
        for (const DType sent : {DType::f32, DType::bf16}) {
          const auto repeated = passes::activation_recomputation(
              passes::accumulation(plain_program(graph, momentum()), micro_steps), graph,
              RecomputeLevel::full);
          const StepProgram grouped = passes::lower_collectives(
              passes::zero(repeated, graph, momentum(), {{world, shards}, 1 << 20}, {stage}), sent);
          CAPTURE(world, shards, stage, micro_steps, print(grouped, &graph));
          CHECK(prove(grouped, Training{&graph, momentum(), micro_steps, world},
                      {.steps = 3, .placements = {{.alignment = 8, .overlap = 1}}}) == "");
        }
}

TEST_CASE(
    "in two groups of two every exchange that is missing, made twice, or made among other ranks is "
    "refused") {
  const ModelGraph graph = chain(2, true);
  for (const bool of_tensors : {false, true})
    for (const int stage : {1, 2, 3}) {
      const UpdateSpec update = of_tensors ? over_tensors(true) : momentum();
      const StepProgram p = passes::zero(passes::accumulation(plain_program(graph, update), 2),
                                         graph, update, {{4, 2}}, {stage});
      const Training t{&graph, update, 2, 4};
      REQUIRE(problem_of(p, t) == "");
      for (std::size_t k = 0; k < p.steady.size(); ++k) {
        if (!is_exchange(p.steady[k])) continue;
        CAPTURE(stage, k, print(p, &graph));
        const auto changed = [&](const auto& change) {
          StepProgram other = p;
          change(other.steady);
          return problem_of(other, t);
        };
        const auto at = static_cast<std::ptrdiff_t>(k);
        CHECK(changed([&](auto& list) { list.erase(list.begin() + at); }) != "");
        CHECK(changed([&](auto& list) { list.insert(list.begin() + at, p.steady[k]); }) != "");
        for (const AxisSet axis : {axes::all, axes::shard, axes::replica})
          // all ranks together have the same weights
          if (axis != p.steady[k].along && !(p.steady[k].op == Op::gather && axis == axes::all))
            CHECK(changed([&](auto& list) { list[k].along = axis; }) != "");
      }
    }
}

TEST_CASE("activations on the host go together with shards") {
  const ModelGraph graph = chain(6, true);
  const UpdateSpec update = momentum();
  for (const int stage : {1, 2, 3}) {
    auto p = passes::activation_offload(passes::accumulation(plain_program(graph, update), 2));
    p = passes::zero(std::move(p), graph, update, {{2, 2}}, {stage});
    CHECK(prove(p, Training{&graph, update, 2, 2}) == "");
  }
}

TEST_CASE("each stage keeps less, and what is kept is shared among the ranks") {
  const ModelGraph graph = chain(6, false);
  UpdateSpec update = momentum();
  update.states.push_back({"v"});
  update.master = Master::fp32;
  std::map<std::pair<int, int>, Bytes> peak;
  for (const int stage : {1, 2, 3})
    for (const int world : {1, 2, 3})
      peak[{stage, world}] = peak_of(Sharded(graph, update, stage, {{world, world}}, 2).program);
  const Bytes ddp = peak_of(passes::distributed_data_parallel(
      passes::accumulation(plain_program(graph, update), 2), {{3, 1}}));
  CHECK(peak[{1, 3}] < ddp);
  for (const int world : {2, 3}) {
    CHECK(peak[{2, world}] < peak[{1, world}]);
    CHECK(peak[{3, world}] < peak[{2, world}]);
  }
  for (const int stage : {1, 2, 3}) CHECK(peak[{stage, 3}] < peak[{stage, 2}]);
}

TEST_CASE("evaluation gathers weights as training does, whatever type it computes in") {
  const ModelGraph graph = chain(3, true);
  const UpdateSpec update = momentum();
  const StepProgram plain = plain_program(graph, update);
  for (const int stage : {1, 2, 3}) {
    const StepProgram train = passes::zero(plain, graph, update, {{2, 2}}, {stage});
    for (const bool cast : {false, true}) {
      ModelGraph evaluated = graph;
      if (cast) evaluated.stored = DType::f32;
      const StepProgram p = passes::zero(forward_program(plain, evaluated, Op::evaluate), evaluated,
                                         update, {{2, 2}}, {stage});
      CAPTURE(stage, cast, print(p, &evaluated));
      for (std::size_t b = 0; b < train.buffers.size() && train.buffers[b].resident; ++b) {
        CHECK(p.buffers[b].name == train.buffers[b].name);
        CHECK(p.buffers[b].bytes() == train.buffers[b].bytes());
      }
      CHECK(check_program(p, plan_memory(p)) == "");
    }
  }
}

TEST_CASE("evaluation with an average gathers that, a block ahead of its use in every stage") {
  const ModelGraph graph = chain(2, true);
  const UpdateSpec update = averaging();
  const StepProgram plain = plain_program(graph, update);
  for (const int stage : {1, 2, 3})
    for (const bool cast : {false, true}) {
      ModelGraph evaluated = graph;
      evaluated.compute = cast ? DType::bf16 : DType::f32;
      if (cast) evaluated.stored = DType::f32;
      const StepProgram p =
          passes::zero(forward_program(plain, evaluated, Op::evaluate, update.average()), evaluated,
                       update, {{2, 2}}, {stage});
      const std::string text = squeezed(print(p, &evaluated));
      CAPTURE(stage, cast, text);
      CHECK(check_program(p, plan_memory(p)) == "");
      CHECK(text.find(" w.") == std::string::npos);
      if (!cast)
        CHECK(
            text.starts_with("m0 gather @communication ema.tied/ > ema.tied\n"
                             "m0 fetch_batch step > x target\n"
                             "m0 gather @communication ema.b1/ > ema.b1\n"
                             "m0 forward embed x ema.tied > h0\n"
                             "m0 gather @communication ema.b2/ > ema.b2\n"
                             "m0 forward b1 h0 ema.b1 > h1\n"));
      for (const Buffer& b : p.buffers)
        CHECK((b.resident || b.role != Role::state));  // here they are weights
      for (std::size_t k = 0; k < p.steady.size(); ++k) {
        if (p.steady[k].op != Op::gather) continue;
        StepProgram without = p;
        without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
        CHECK(check_program(without, plan_memory(p)) != "");
      }
    }
}

TEST_CASE(
    "with two ranks every exchange that is missing, made twice or made early is refused, as is "
    "every other instruction that is left out") {
  const ModelGraph graph = chain(3, true);
  for (const int stage : {1, 2, 3}) {
    const Sharded s(graph, momentum(), stage, {{2, 2}}, 2);
    REQUIRE(problem_of(s.program, s.training) == "");
    for (std::size_t k = 0; k < s.program.steady.size(); ++k) {
      CAPTURE(stage, k, print(s.program, &graph));
      StepProgram missing = s.program;
      missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
      CHECK(problem_of(missing, s.training) != "");
      const Instruction& i = s.program.steady[k];
      if (!is_exchange(i)) continue;
      StepProgram twice = s.program;
      twice.steady.insert(twice.steady.begin() + static_cast<std::ptrdiff_t>(k), i);
      CHECK(problem_of(twice, s.training) != "");
      if (i.op == Op::gather) {  // a use of the weights before they are there
        std::size_t reader = k;
        while (!meet(s.program.steady[reader + 1], i)) ++reader;
        StepProgram late = s.program;
        late.steady.erase(late.steady.begin() + static_cast<std::ptrdiff_t>(k));
        late.steady.insert(late.steady.begin() + static_cast<std::ptrdiff_t>(reader + 1), i);
        CHECK(problem_of(late, s.training) != "");
      } else {  // a sum of what is not complete
        std::size_t writer = k;
        while (!meet(s.program.steady[writer - 1], i)) --writer;
        StepProgram early = s.program;
        early.steady.erase(early.steady.begin() + static_cast<std::ptrdiff_t>(k));
        early.steady.insert(early.steady.begin() + static_cast<std::ptrdiff_t>(writer - 1), i);
        CHECK(problem_of(early, s.training) != "");
      }
    }
  }
}

TEST_CASE("frozen weights stay whole until stage 3") {
  const ModelGraph graph = with_frozen_layers();
  for (const int stage : {1, 2, 3}) {
    const Sharded s(program::divisible(graph, {2, 2}, Unit::element), momentum(), stage, {{2, 2}},
                    2);
    CAPTURE(stage, print(s.program, &s.graph));
    CHECK(problem_of(s.program, s.training) == "");
    int frozen = 0, gathered = 0;
    for (const Buffer& b : s.program.buffers) {
      if (!is_frozen(s.graph, b)) continue;
      if (!b.resident) ++gathered;
      if (b.resident) CHECK(b.is_cut() == (stage == 3));
      ++frozen;
    }
    CHECK(frozen > 0);
    CHECK((gathered > 0) == (stage == 3));
  }
}

}  // namespace zero_test
