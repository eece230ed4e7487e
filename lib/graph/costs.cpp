#include "graph/costs.hpp"

namespace trainx::graph {

using namespace operations;
using program::How;

void add_cost(program::Phase& phase, const Operation& operation, const Cost& cost,
              const BoundOp& bound, std::int64_t times) {
  const auto slot = [&](int out) {
    return out == program::none ? none : bound.outputs[static_cast<std::size_t>(out)];
  };
  for (const Cost::Product& p : cost.products) {
    program::Gemm& g = phase.gemms.emplace_back(p.gemm);
    g.count *= times;
    g.output = slot(p.output);
  }
  if (cost.attention) {
    phase.attention_flops = cost.attention->flops;
    phase.attention_output = slot(cost.attention_output);
    phase.attention_head = cost.attention->head_size;
    phase.attention_rows = cost.attention->rows;
    phase.plain_attention = !cost.attention->fused;
    phase.own_attention = cost.attention->own;
    phase.attention_keys = cost.attention->keys;
    phase.attention_causal = cost.attention->causal;
    phase.hopper_attention = cost.attention->hopper;
    phase.dropped_attention = cost.attention->dropped;
    phase.wide_attention = cost.attention->wide_library;
  }
  phase.measured_s += cost.measured_s * static_cast<double>(times);
  for (const KernelLaunches& k : cost.kernels) {
    phase.other_kernels += k.count * times;
    phase.kernels.push_back({k.family, k.count * times});
  }
  for (const ParameterCastCost& c : cost.parameter_casts)
    phase.parameter_casts.push_back({bound.scratch[static_cast<std::size_t>(c.scratch)],
                                     bound.parameters[static_cast<std::size_t>(c.parameter)].value,
                                     c.kernels, c.parameter_bytes, c.bytes});
  if (cost.element_bytes > 0 || cost.element_flops > 0)
    phase.element_work.push_back({std::visit([](const auto& op) { return op.work; }, operation),
                                  cost.element_flops * static_cast<double>(times),
                                  cost.element_bytes * static_cast<double>(times),
                                  slot(cost.element_output)});
}

std::vector<Slot> bind_scratch(const Cost& cost, Slots& slots, Uses& uses) {
  std::vector<Slot> out(cost.scratch.size(), none);
  for (std::size_t k = 0; k < cost.scratch.size(); ++k) {
    const ScratchSpec& s = cost.scratch[k];
    if (!s.type.defined() || s.of_parameter != program::none) continue;
    out[k] = slots.shared_scratch(std::string(s.name), s.type);
    uses.write(out[k], How::overwrite);
  }
  return out;
}

}  // namespace trainx::graph
