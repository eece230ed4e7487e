#include "plan/exchanges.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <set>

namespace trainx::plan {
namespace {

using program::Kind, program::Op;

std::string name_of_exchange(const program::Instruction& i, Kind kind, bool of_tensors) {
  const std::string in = i.peer == program::none ? " summed" : " in";
  if (i.op == Op::gather) return "weights gathered";
  if (i.op == Op::scatter) return "gradients scattered";
  if (i.group == program::Among::replicas) return "gradients of shards summed";
  if (of_tensors) return "sums over tensors";
  switch (kind) {
    case Kind::batch: return "batches out";
    case Kind::parameter: return "weights out";
    case Kind::gradient: return "gradients" + in;
    case Kind::scalar: return i.op == Op::broadcast ? "the loss's seed out" : "losses" + in;
    default: return std::string(program::name_of(i.op));
  }
}

}  // namespace

std::vector<Exchange> exchanges_of(const RunPlan& plan) {
  std::vector<Exchange> out;
  const auto& p = plan.train.back().program;
  std::set<program::BufferId> of_tensors;  // what `measure` makes
  for (const program::Instruction& i : p.steady) {
    if (i.op == Op::measure) of_tensors.insert(i.uses.back().buffer);
    // the others are sent as much
    if (!program::is_collective(i.op) || (i.op == Op::send && i.peer != 1)) continue;
    const program::BufferId first = i.uses.front().buffer;
    const std::string name = name_of_exchange(i, p.buffers[static_cast<std::size_t>(first)].kind,
                                              of_tensors.contains(first));
    auto found = std::ranges::find(out, name, &Exchange::name);
    if (found == out.end()) found = out.insert(out.end(), {name});
    found->collectives += program::times(p, i);
    found->bytes += program::sent_bytes(i) * program::times(p, i);
  }
  return out;
}

}  // namespace trainx::plan
