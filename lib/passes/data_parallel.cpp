#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"
#include "program/operations.hpp"
#include <map>
#include <set>

namespace trainx::passes {

using namespace program;

namespace {

constexpr int owner = 0;

/// Batch out: the owner reads the batches of all ranks and sends the others theirs.
void send_batches(StepProgram& p, const Instruction& fetch, std::vector<Instruction>& steady) {
  for (int rank = 1; rank < p.mesh.world; ++rank) {
    Instruction other = fetch;
    other.peer = rank;
    for (Use& u : other.uses) {
      if (!writes(u.how)) continue;
      Buffer b = p.buffers[static_cast<std::size_t>(u.buffer)];
      b.name += "(" + std::to_string(rank) + ")";
      u.buffer = add_buffer(p, std::move(b));
    }
    steady.push_back(other);
    for (const Use& u : other.uses)
      if (writes(u.how))
        steady.push_back({Op::send,
                          none,
                          fetch.micro,
                          Lane::communication,
                          {Use{u.buffer, How::read, CopySlot::from}},
                          none,
                          axes::all,
                          rank});
  }
}

void receive_batch(const Instruction& fetch, std::vector<Instruction>& steady) {
  for (const Use& u : fetch.uses)
    if (writes(u.how))
      steady.push_back({Op::recv,
                        none,
                        fetch.micro,
                        Lane::communication,
                        {Use{u.buffer, How::overwrite, CopySlot::to}},
                        none,
                        axes::all,
                        owner});
}

/// Does a block read of it what the owner alone keeps: weights, and the scale of the loss, which
/// seeds the gradients?
bool is_of_owner(const Buffer& b) {
  return b.resident && (b.role == Role::parameter || is_scalar(b.role));
}

bool is_of_replica(const Instruction& i) {
  switch (i.op) {
    case Op::advance_step:
    case Op::grad_norm:
    case Op::update:
    case Op::balance:
    case Op::advance_applied:
    case Op::report: return false;
    default: return true;
  }
}

/// Without the buffers that nothing uses. A replica keeps nothing from step to step.
void drop_unused(StepProgram& p) {
  std::map<BufferId, BufferId> kept;
  std::vector<Buffer> buffers;
  for (Instruction& i : p.steady)
    for (Use& u : i.uses) {
      const auto [it, is_new] = kept.try_emplace(u.buffer, static_cast<BufferId>(buffers.size()));
      if (is_new) {
        buffers.push_back(p.buffers[static_cast<std::size_t>(u.buffer)]);
        buffers.back().resident = false;
      }
      u.buffer = it->second;
    }
  p.buffers = std::move(buffers);
}

}  // namespace

StepProgram data_parallel(StepProgram p, const ReduceOptions& how, int rank) {
  enter(p, Pass::data_parallel);
  join_whole(p, how.mesh);
  const bool owns = rank == owner;
  std::vector<std::vector<Instruction>> behind(p.steady.size());
  for (const Bucket& bucket : buckets_of(p, how.bucket_bytes)) {
    Instruction reduce = reduce_of(bucket);
    reduce.peer = owner;
    for (Use& u : reduce.uses)
      if (!owns && u.how == How::modify) u.how = How::read;
    behind[bucket.last_writer].push_back(std::move(reduce));
  }
  std::vector<Instruction> steady;
  std::set<BufferId> sent;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    const Instruction i = p.steady[k];
    if (owns || is_of_replica(i)) {
      for (const Use& u : i.uses)
        if (is_of_block(i) && is_of_owner(p.buffers[static_cast<std::size_t>(u.buffer)]) &&
            sent.insert(u.buffer).second)
          steady.push_back({Op::broadcast,
                            none,
                            none,
                            Lane::communication,
                            {Use{u.buffer, owns ? How::read : How::overwrite}},
                            none,
                            axes::all,
                            owner});
      if (i.op != Op::fetch_batch || owns) steady.push_back(i);
      if (i.op == Op::fetch_batch) owns ? send_batches(p, i, steady) : receive_batch(i, steady);
    }
    std::move(behind[k].begin(), behind[k].end(), std::back_inserter(steady));
  }
  p.steady = std::move(steady);
  if (!owns) drop_unused(p);
  return p;
}

}  // namespace trainx::passes
