// What is summed over ranks: gradients, and the scalars that blocks add up.
#pragma once
#include "program/plain.hpp"

namespace trainx::passes {

/// What travels together, once the last of it is written.
struct Bucket {
  std::vector<program::BufferId> buffers;
  std::size_t last_writer = 0;                  // position in steady
  program::AxisSet along = program::axes::all;  // over which ranks it is summed
};

/// Ranks that have shares of a gradient's sum: all that have rows of their own, without those for
/// whose rows this rank's part has computed.
inline program::AxisSet summed_along(const program::Buffer& gradient, const program::Mesh& mesh) {
  const program::AxisSet along = gradient.layout.along();
  return along.is_empty() && mesh.pipeline == 1 ? program::axes::all
                                                : program::axes::of_stage - along;
}

/// The set itself, or one with a name along which the same ranks differ: the same ranks are always
/// called alike.
inline program::AxisSet named(program::AxisSet set, const program::Mesh& mesh) {
  for (const program::AxisSet known :
       {program::axes::all, program::axes::data, program::axes::replica, program::axes::shard,
        program::axes::tensor})
    if (mesh.significant(set) == mesh.significant(known)) return known;
  return set;
}

/// Scalars travel with those that the same instruction completes, ahead of gradients: updates wait
/// for them. Gradients, in the order in which they are completed, until there are `bucket_bytes` of
/// them: fewer, larger sums use links better, and the last bucket has nothing to hide behind. No
/// bucket goes on in the next micro-step. Gradients of parts (experts) are summed over the ranks
/// that have the same; there is no bucket of them where no other rank has. In the order of last
/// writers.
std::vector<Bucket> buckets_of(const program::StepProgram& p, program::Bytes bucket_bytes);

/// What reads at once what position `last` has made comes behind this position: `last`, but where
/// that is a sum over ranks behind the next block, beside which the sum is made. Else it would hold
/// the lane of backward until the sum is there.
std::size_t beside_sum(const std::vector<program::Instruction>& steady, std::size_t last);

/// Where updates need sums over whole tensors (UpdateSpec::sums) of which each rank has parts: each
/// rank's sums are made, and summed over those ranks, before the first update. Updates that have
/// sums stay as they are.
void sum_over_tensors(program::StepProgram& p, const program::ModelGraph& graph,
                      const program::UpdateSpec& update);

/// Sums the bucket in place.
program::Instruction reduce_of(const Bucket& bucket);

/// The program becomes one of these ranks, which have no shards.
void join_whole(program::StepProgram& p, const program::Mesh& mesh);

}  // namespace trainx::passes
