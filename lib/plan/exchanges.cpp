#include "plan/exchanges.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

using program::Kind, program::Op;

std::string name_of_exchange(const program::Instruction& i, Kind kind) {
  const std::string in = i.peer == program::none ? " summed" : " in";
  if (i.op == Op::gather) return "weights gathered";
  if (i.op == Op::scatter) return "gradients scattered";
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
  for (const program::Instruction& i : p.steady) {
    if (!program::is_collective(i.op) || (i.op == Op::send && i.peer != 1)) continue;   // the others are sent as much
    const std::string name = name_of_exchange(i, p.buffers[static_cast<std::size_t>(i.uses.front().buffer)].kind);
    auto found = std::ranges::find(out, name, &Exchange::name);
    if (found == out.end()) found = out.insert(out.end(), {name});
    ++found->collectives;
    found->bytes += program::sent_bytes(i);
  }
  return out;
}

}  // namespace trainx::plan
