#include "execute/host_update.hpp"
#include "program/operations.hpp"
#include "execute/update_memory.hpp"
#include <algorithm>
#include <limits>

namespace trainx::execute {

using namespace program;

double learning_rate_at(const double* table, std::int64_t entries, std::int64_t applied_steps) {
  return table[std::min(applied_steps, entries - 1)];
}

void update_on_host(const plan::PlacedProgram& placed, const Instruction& i,
                    const program::LocalGroup& own,
                    const std::function<std::byte*(const Use&)>& address,
                    const ExecutorParts& parts) {
  const auto number = [&](Slot slot) {
    return *reinterpret_cast<const double*>(address(use_of(i, slot)));
  };
  const UpdateMemory memory = update_memory(placed, i, own, address, parts.rounding_seed);
  optim::StepScalars step;
  step.norm2 = number(UpdateSlot::norm2);
  constexpr double largest_bf16 = 0x1.fep127;
  // what is finite in fp32 may not be in bf16
  if (memory.group.gradient_dtype == DType::bf16 && step.norm2 > largest_bf16 * largest_bf16)
    step.norm2 = std::numeric_limits<double>::infinity();
  const double scale = find_use(i, UpdateSlot::loss_scale) ? number(UpdateSlot::loss_scale) : 1;
  const double targets = number(UpdateSlot::target_count) * scale;
  // a step without targets has no gradient, and counts
  step.gradient_scale = targets > 0 ? parts.nominal_targets / targets : 0;
  step.applied_steps =
      *reinterpret_cast<const std::int64_t*>(address(use_of(i, UpdateSlot::applied)));
  const Use& table = use_of(i, UpdateSlot::lr_table);
  step.lr = learning_rate_at(
      reinterpret_cast<const double*>(address(table)),
      placed.program.buffers[static_cast<std::size_t>(table.buffer)].elements, step.applied_steps);
  step.max_grad_norm = parts.max_grad_norm;
  i.op == Op::measure ? parts.optimizer->measure(memory.group, step, memory.round)
                      : parts.optimizer->update(memory.group, step);
}

}  // namespace trainx::execute
