// Random legal programs: a random model, passes with random options, ranks, then any legal order of
// the list and any lanes.
#pragma once
#include "passes/passes.hpp"
#include "support/toy/prove.hpp"

namespace toy {

/// Reduces each gradient and sum after its last writer: what data parallelism adds to a program.
inline StepProgram reduced_over(StepProgram p, int world) {
  p.mesh.world = world;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const Buffer& buffer = p.buffers[b];
    if (buffer.role != Role::gradient && buffer.role != Role::loss_sum &&
        buffer.role != Role::target_count)
      continue;
    const auto is_writer = [&](const Instruction& i) {
      return std::any_of(i.uses.begin(), i.uses.end(), [&](const Use& u) {
        return u.buffer == static_cast<BufferId>(b) && writes(u.how);
      });
    };
    const auto last = std::find_if(p.steady.rbegin(), p.steady.rend(), is_writer);
    p.steady.insert(last.base(), {Op::reduce,
                                  none,
                                  none,
                                  Lane::communication,
                                  {Use{static_cast<BufferId>(b), How::modify, 0}}});
  }
  return p;
}

/// Swaps neighbours that do not meet, `times` times somewhere.
inline void shuffle(StepProgram& p, std::minstd_rand& random, int times) {
  for (int k = 0; k < times; ++k) {
    const std::size_t at = random() % (p.steady.size() - 1);
    if (!meet(p.steady[at], p.steady[at + 1])) std::swap(p.steady[at], p.steady[at + 1]);
  }
}

struct RandomProgram {
  ModelGraph graph;
  UpdateSpec update;
  Training training;
  StepProgram program;
  std::string description;

  explicit RandomProgram(unsigned seed) {
    std::minstd_rand random(seed);
    random.discard(5);
    const auto pick = [&](unsigned n) { return static_cast<int>(random() % n); };
    const int model = pick(3), size = 1 + pick(4), micro_steps = 1 + pick(4), level = pick(3),
              world = 1 + pick(3), overflow = pick(8);
    const bool tied = pick(2) == 0, scaled = pick(4) == 0, offloaded = pick(3) == 0,
               in_backward = pick(3) == 0;
    const int stage = world > 1 && !in_backward && pick(2) ? 1 + pick(3) : 0;
    graph = model == 0   ? chain(size, tied)
            : model == 1 ? encoder_decoder(size)
                         : pairs(1 + size / 2);
    if (scaled) graph = with_loss_scale(graph);
    update = {{{"m"}}, pick(2) ? Master::fp32 : Master::absent, 4};
    if (pick(2)) update.states.push_back({"v"});
    training = {&graph, update, micro_steps, world};
    if (overflow < 3) training.overflow = {overflow, pick(static_cast<unsigned>(world))};
    program = passes::activation_recomputation(
        passes::accumulation(plain_program(graph, update), micro_steps), graph,
        static_cast<RecomputeLevel>(level));
    if (offloaded) program = passes::activation_offload(std::move(program));
    if (stage > 0)
      program = passes::zero(std::move(program), graph, update,
                             {{world, world}, pick(2) ? 0 : 3 * width * 4}, {stage});
    else if (world > 1)
      program = reduced_over(std::move(program), world);
    training.update_in_backward = in_backward;
    if (in_backward) program = passes::update_in_backward(std::move(program));
    const bool on_host = pick(4) == 0;
    passes::OptimizerOffloadOptions keep{{}, 1 + pick(3)};
    for (std::size_t g = 0; g < graph.groups.size() && pick(2); ++g)
      keep.locations.resize(graph.groups.size(), passes::OptimizerLocation::host),
          keep.locations[g] = static_cast<passes::OptimizerLocation>(pick(3));
    keep.rounded = pick(2);
    for (std::size_t g = 0; on_host && keep.rounded && g < graph.groups.size(); ++g)
      training.rounded_gradients.push_back(keep.locations.empty() ||
                                           keep.locations[g] != passes::OptimizerLocation::device);
    if (on_host) program = passes::optimizer_offload(std::move(program), keep);
    const bool weights_away = (stage == 0 || stage == 3) && pick(4) == 0;
    const passes::ParameterOffloadOptions weights{pick(2) == 0, 1 + pick(3)};
    if (weights_away) program = passes::parameter_offload(std::move(program), weights);
    const bool rounds_sums = pick(2);
    if (world > 1)
      program =
          passes::lower_collectives(std::move(program), rounds_sums ? DType::bf16 : DType::f32);
    if (pick(2)) shuffle(program, random, 200);
    if (pick(2))
      for (Instruction& i : program.steady)
        if (!is_collective(i.op) && pick(3) == 0)
          i.lane = std::array{Lane::compute, Lane::copy_in, Lane::copy_out, Lane::host,
                              Lane::disk}[pick(5)];
    description = "seed " + std::to_string(seed) + ": model " + std::to_string(model) + " size " +
                  std::to_string(size) + " tied " + std::to_string(tied) + " micro-steps " +
                  std::to_string(micro_steps) + " level " + std::to_string(level) + " world " +
                  std::to_string(world) + " overflow " + std::to_string(overflow) +
                  (stage ? " zero " + std::to_string(stage) : "") +
                  (offloaded ? " offloaded" : "") + (in_backward ? " updated in backward" : "") +
                  (on_host ? " on the host" : "") +
                  (on_host && !keep.locations.empty() ? " and elsewhere" : "") +
                  (on_host && keep.rounded ? " with rounded gradients" : "") +
                  (world > 1 && rounds_sums ? " with rounded sums" : "") +
                  (!weights_away     ? ""
                   : weights.on_disk ? " weights on the disk"
                                     : " weights on the host");
  }
  RandomProgram(const RandomProgram&) = delete;
};

}  // namespace toy
