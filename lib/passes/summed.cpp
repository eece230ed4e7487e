#include "passes/summed.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace trainx::passes {

using namespace program;

std::vector<Bucket> buckets_of(const StepProgram& p, Bytes bucket_bytes) {
  std::vector<int> last(p.buffers.size(), none);
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    // stages of a pipeline also add up gradients, and tell each other the sums of one batch
    const bool of_block = is_of_block(p.steady[k]), tells = p.steady[k].op == Op::send;
    for (const Use& u : p.steady[k].uses) {
      const Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
      if ((b.role == Role::gradient && (writes(u.how) || tells)) ||
          (of_block && writes(u.how) && is_scalar(b.role) && !b.resident))
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
  std::vector<Open> all(1);  // by the ranks they are summed over
  const auto open_along = [&](AxisSet along) -> Open& {
    const auto at = std::ranges::find(all, along, [](const Open& o) { return o.bucket.along; });
    if (at != all.end()) return *at;
    all.emplace_back().bucket.along = along;
    return all.back();
  };
  const auto has_others = [&](AxisSet along) {
    return along == axes::all || p.mesh.size(along) > 1;
  };
  const auto close = [&](Open& open) {
    const AxisSet along = open.bucket.along;
    if (!open.bucket.buffers.empty() && has_others(along))
      buckets.push_back(std::move(open.bucket));
    open = {};
    open.bucket.along = along;
  };
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    Bucket scalars{{}, k, named(axes::data, p.mesh)};
    std::vector<BufferId> completed;
    for (const BufferId b : finished[k])
      (is_scalar(p.buffers[static_cast<std::size_t>(b)].role) ? scalars.buffers : completed)
          .push_back(b);
    if (!scalars.buffers.empty() && has_others(scalars.along))
      buckets.push_back(std::move(scalars));
    for (const BufferId b : completed) {
      const Buffer& gradient = p.buffers[static_cast<std::size_t>(b)];
      Open& open = open_along(summed_along(gradient, p.mesh));
      open.bucket.buffers.push_back(b);
      open.bucket.last_writer = k;
      open.bytes += gradient.bytes();
    }
    const bool micro_step_ends = k + 1 == p.steady.size() ||
                                 p.steady[k + 1].micro != p.steady[k].micro;
    for (Open& open : all)
      if (!open.bucket.buffers.empty() && (open.bytes >= bucket_bytes || micro_step_ends))
        close(open);
  }
  for (Open& open : all) close(open);
  std::ranges::stable_sort(buckets, {}, &Bucket::last_writer);
  return buckets;
}

std::size_t beside_sum(const std::vector<Instruction>& steady, std::size_t last) {
  if (!is_collective(steady[last].op)) return last;
  for (std::size_t k = last + 1; k < steady.size(); ++k)
    if (steady[k].op == Op::backward) return k;
  return last;
}

Instruction reduce_of(const Bucket& bucket) {
  Instruction i{Op::reduce, none, none, Lane::communication};
  i.along = bucket.along;
  for (int k = 0; const BufferId b : bucket.buffers)
    i.uses.push_back(Use{b, How::modify, ReduceSlot::thing(k++)});
  return i;
}

namespace {

/// Along which ranks have other parts of the update's tensors; empty: this one has them whole, or
/// sums over them are made.
AxisSet parts_of_tensors(const StepProgram& p, const Instruction& i) {
  if (i.op != Op::update ||
      std::ranges::any_of(i.uses, [](const Use& u) { return UpdateSlot::is_sums(u.slot); }))
    return {};
  const Use* const gradient = find_use(i, UpdateSlot::gradient);
  if (!gradient) return {};
  const AxisSet along = p.buffers[static_cast<std::size_t>(gradient->buffer)].layout.along();
  return along.is_empty() ? along : named(along, p.mesh);
}

}  // namespace

void sum_over_tensors(StepProgram& p, const ModelGraph& graph, const UpdateSpec& update) {
  const int rounds = static_cast<int>(update.sums.size());
  const auto first = std::ranges::find(p.steady, Op::update, &Instruction::op);
  if (rounds == 0 || first == p.steady.end()) return;
  const auto is_of_tensors = [&](const Use& u) {
    return p.buffers[static_cast<std::size_t>(u.buffer)].unit == Unit::tensor;
  };
  std::vector<std::pair<Instruction*, AxisSet>> updates;
  for (Instruction& i : p.steady)
    if (const AxisSet along = parts_of_tensors(p, i); !along.is_empty())
      updates.emplace_back(&i, along);
  std::vector<Instruction> before;
  for (int round = 0; round < rounds; ++round) {
    std::map<AxisSet, Instruction> over_ranks;
    for (const auto& [i, along] : updates) {
      const GroupSpec& group = graph.groups[static_cast<std::size_t>(i->group)];
      const BufferId sums = add_buffer(
          p, {.name = "sums" + std::to_string(round) + "." + group.name,
              .role = Role::tensor_sums,
              .index = i->group,
              .item = round,
              .dtype = DType::f64,
              .elements = sums_layout(update.sums[static_cast<std::size_t>(round)], group).back()});
      Instruction measure{.op = Op::measure, .uses = i->uses, .group = i->group};
      for (Use& u : measure.uses)
        u.how = is_of_tensors(u) && round + 1 == rounds ? How::modify : How::read;
      measure.uses.push_back(Use{sums, How::overwrite, UpdateSlot::first_sums + round});
      before.push_back(std::move(measure));
      Instruction& sum =
          over_ranks.try_emplace(along, Instruction{Op::reduce, none, none, Lane::communication})
              .first->second;
      sum.along = along;
      const auto thing = static_cast<int>(sum.uses.size());
      sum.uses.push_back(Use{sums, How::modify, ReduceSlot::thing(thing)});
      i->uses.push_back(Use{sums, How::read, UpdateSlot::first_sums + round});
    }
    for (auto& [along, sum] : over_ranks) before.push_back(std::move(sum));
  }
  for (const auto& [i, along] : updates)
    for (Use& u : i->uses)
      if (is_of_tensors(u)) u.how = How::read;
  p.steady.insert(first, std::make_move_iterator(before.begin()),
                  std::make_move_iterator(before.end()));
}

void join_whole(StepProgram& p, const Mesh& mesh) {
  if (mesh.shard != 1) throw InternalError("ranks that keep everything have no shards");
  p.mesh = mesh;
}

}  // namespace trainx::passes
