#include "train/host_update.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <limits>

namespace trainx::train {

using namespace program;

double learning_rate_at(const double* table, const Use& u, std::int64_t applied_steps) {
  const auto entries = (u.range.end - u.range.begin) / static_cast<std::int64_t>(sizeof(double));
  return table[std::min(applied_steps, entries - 1)];
}

void update_on_host(const plan::PlacedProgram& placed, const Instruction& i, const OwnGroup& own,
                    const std::function<std::byte*(const Use&)>& address,
                    const ExecutorParts& parts) {
  const auto number = [&](Slot slot) {
    return *reinterpret_cast<const double*>(address(use_of(i, slot)));
  };
  optim::GroupMemory memory;
  memory.group = &own.spec;
  memory.first = own.first;
  const Use& gradient = use_of(i, UpdateSlot::gradient);
  const bool rounded = placed.program.buffers[static_cast<std::size_t>(gradient.buffer)].rounded;
  memory.gradient = address(gradient);
  memory.gradient_dtype = rounded ? DType::bf16 : DType::f32;
  memory.parameter_dtype = placed.graph.compute;
  memory.parameter = address(use_of(i, UpdateSlot::parameter));
  memory.rounding_seed = parts.rounding_seed;
  memory.index = i.block;
  if (const Use* master = find_use(i, UpdateSlot::master)) {
    memory.master = address(*master);
    memory.master_kind = master->range.end - master->range.begin == memory.group->elements * 4
                             ? Master::fp32
                             : Master::split;
  }
  int round = 0;  // of the last sums
  for (const Use& u : i.uses) {
    if (UpdateSlot::is_sums(u.slot)) {
      round = std::max(round, u.slot - UpdateSlot::first_sums);
      memory.of_group = &placed.graph.groups[static_cast<std::size_t>(i.block)];
      memory.sums.resize(static_cast<std::size_t>(UpdateSlot::last_sums - UpdateSlot::first_sums) +
                         1);
      memory.sums[static_cast<std::size_t>(u.slot - UpdateSlot::first_sums)] =
          reinterpret_cast<double*>(address(u));
    }
    if (u.slot < UpdateSlot::first_state) continue;
    memory.states.resize(std::max(memory.states.size(),
                                  static_cast<std::size_t>(u.slot - UpdateSlot::first_state) + 1));
    memory.states[static_cast<std::size_t>(u.slot - UpdateSlot::first_state)] = address(u);
  }
  optim::StepScalars step;
  step.norm2 = number(UpdateSlot::norm2);
  constexpr double largest_bf16 = 0x1.fep127;
  // what is finite in fp32 may not be in bf16
  if (rounded && step.norm2 > largest_bf16 * largest_bf16)
    step.norm2 = std::numeric_limits<double>::infinity();
  const double scale = find_use(i, UpdateSlot::loss_scale) ? number(UpdateSlot::loss_scale) : 1;
  const double targets = number(UpdateSlot::target_count) * scale;
  // a step without targets has no gradient, and counts
  step.gradient_scale = targets > 0 ? parts.nominal_targets / targets : 0;
  step.applied_steps =
      *reinterpret_cast<const std::int64_t*>(address(use_of(i, UpdateSlot::applied)));
  const Use& table = use_of(i, UpdateSlot::lr_table);
  step.lr =
      learning_rate_at(reinterpret_cast<const double*>(address(table)), table, step.applied_steps);
  step.max_grad_norm = parts.max_grad_norm;
  i.op == Op::measure ? parts.optimizer->measure(memory, step, round)
                      : parts.optimizer->update(memory, step);
}

}  // namespace trainx::train
