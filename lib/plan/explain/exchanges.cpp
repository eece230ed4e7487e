#include "plan/explain/exchanges.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

using program::Role, program::Op;

std::string name_of_exchange(const program::Instruction& i, Role role) {
  const std::string in = i.peer == program::none ? " summed" : " in";
  if (i.along == program::axes::stage) {
    if (role == Role::value) return "values to the next stage";
    if (role == Role::value_gradient) return "gradients of values to the stage before";
    return is_scalar(role) ? "losses and norms of stages" : "gradients of shared weights";
  }
  if (role == Role::value || role == Role::value_gradient) {
    if (i.op == Op::gather) return "rows of layers gathered";
    if (i.op == Op::scatter) return "rows of layers summed";
    if (i.op == Op::all_to_all && i.along == program::axes::context)
      return "heads of rows to ranks";
  }
  if (i.op == Op::gather) return "weights gathered";
  if (i.op == Op::scatter) return "gradients scattered";
  if (i.op == Op::all_to_all) return "rows to experts and back";
  if (i.along == program::axes::expert_replica) return "gradients of experts summed";
  if (i.along == program::axes::replica) return "gradients of shards summed";
  switch (role) {
    case Role::batch: return "batches out";
    case Role::parameter: return "weights out";
    case Role::gradient:
    case Role::transit: return "gradients" + in;
    case Role::tensor_sums: return "sums over tensors";
    case Role::fp8_scales: return "largest scales of weights in fp8";
    default:
      if (!is_scalar(role)) return std::string(program::name_of(i.op));
      return i.op == Op::broadcast ? "the loss's seed out" : "losses" + in;
  }
}

}  // namespace

std::vector<Exchange> exchanges_of(const RunPlan& plan) {
  std::vector<Exchange> out;
  const auto& p = plan.role().train.back().program;
  for (const program::Instruction& i : p.steady) {
    // the others are sent as much
    if (!program::is_collective(i.op) ||
        (i.op == Op::send && i.along == program::axes::all && i.peer != 1))
      continue;
    const auto first = static_cast<std::size_t>(i.uses.front().buffer);
    const std::string name = name_of_exchange(i, p.buffers[first].role);
    auto found = std::ranges::find(out, name, &Exchange::name);
    if (found == out.end()) found = out.insert(out.end(), {name});
    found->collectives += program::times(p, i);
    found->bytes += program::sent_bytes(p, i) * program::times(p, i);
  }
  return out;
}

}  // namespace trainx::plan
