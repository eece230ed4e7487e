#include "passes/summed.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::passes {

using namespace program;

std::vector<Bucket> buckets_of(const StepProgram& p, Bytes bucket_bytes) {
  std::vector<int> last(p.buffers.size(), none);
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (!is_of_block(p.steady[k])) continue;
    for (const Use& u : p.steady[k].uses) {
      const Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
      if (writes(u.how) && (b.role == Role::gradient || (is_scalar(b.role) && !b.resident)))
        last[static_cast<std::size_t>(u.buffer)] = static_cast<int>(k);
    }
  }
  std::vector<std::vector<BufferId>> finished(p.steady.size());  // by position
  for (std::size_t b = 0; b < last.size(); ++b)
    if (last[b] != none)
      finished[static_cast<std::size_t>(last[b])].push_back(static_cast<BufferId>(b));
  std::vector<Bucket> buckets;
  struct Open {
    Bucket bucket;
    Bytes bytes = 0;
  };
  Open of_all, of_experts;
  of_experts.bucket.along = axes::expert_replica;
  const auto close = [&](Open& open) {
    const AxisSet along = open.bucket.along;
    if (!open.bucket.buffers.empty() && (along == axes::data || p.mesh.size(along) > 1))
      buckets.push_back(std::move(open.bucket));
    open = {};
    open.bucket.along = along;
  };
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    Bucket scalars{{}, k};
    std::vector<BufferId> completed;
    for (const BufferId b : finished[k])
      (is_scalar(p.buffers[static_cast<std::size_t>(b)].role) ? scalars.buffers : completed)
          .push_back(b);
    if (!scalars.buffers.empty()) buckets.push_back(std::move(scalars));
    for (const BufferId b : completed) {
      const Buffer& gradient = p.buffers[static_cast<std::size_t>(b)];
      Open& open = gradient.layout.is_cut_along(axes::expert) ? of_experts : of_all;
      open.bucket.buffers.push_back(b);
      open.bucket.last_writer = k;
      open.bytes += gradient.bytes();
    }
    const bool micro_step_ends = k + 1 == p.steady.size() ||
                                 p.steady[k + 1].micro != p.steady[k].micro;
    for (Open* open : {&of_all, &of_experts})
      if (!open->bucket.buffers.empty() && (open->bytes >= bucket_bytes || micro_step_ends))
        close(*open);
  }
  for (Open* open : {&of_all, &of_experts}) close(*open);
  std::ranges::stable_sort(buckets, {}, &Bucket::last_writer);
  return buckets;
}

std::size_t beside_sum(const std::vector<Instruction>& steady, std::size_t last) {
  if (!is_collective(steady[last].op)) return last;
  for (std::size_t k = last + 1; k < steady.size(); ++k)
    if (steady[k].op == Op::backward) return k;
  return last;
}

Instruction reduce_of(const StepProgram& p, const Bucket& bucket) {
  Instruction i{Op::reduce, none, none, Lane::communication};
  i.along = bucket.along;
  for (int k = 0; const BufferId b : bucket.buffers)
    i.uses.push_back(whole(p, b, How::modify, ReduceSlot::thing(k++)));
  return i;
}

void join_whole(StepProgram& p, const Mesh& mesh) {
  if (mesh.shard != 1) throw InternalError("ranks that keep everything have no shards");
  p.mesh = mesh;
}

}  // namespace trainx::passes
