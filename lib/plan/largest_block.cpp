#include "plan/largest_block.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/stages.hpp"
#include <map>

namespace trainx::plan {
namespace {

std::int64_t bytes_on_device(const program::StepProgram& p, const program::Instruction& i) {
  std::map<program::BufferId, std::int64_t> of;  // a buffer that is used twice lies there once
  for (const program::Use& u : i.uses)
    if (const program::Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
        b.space == program::Space::device)
      of[u.buffer] = b.bytes();
  std::int64_t bytes = 0;
  for (const auto& [buffer, size] : of) bytes += size;
  return bytes;
}

}  // namespace

LargestBlock largest_block(const Draft& plan) {
  Draft least = plan;
  if (!plan.recipe.optimizer.update_in_backward) {
    least.batch.micro_batch_size = smallest_micro_batch(plan);
    least.batch.grad_accum_steps = least_micro_steps(plan);
  }
  const Programs programs = plan_programs(least, Extent::bytes);
  const PlacedProgram& placed = programs.train.back();
  LargestBlock largest{"", least.batch.micro_batch_size, 0};
  for (const program::Instruction& i : placed.program.steady)
    if (program::is_of_block(i))
      if (const std::int64_t bytes = bytes_on_device(placed.program, i); bytes > largest.bytes)
        largest = {std::string(program::name_of(i.op)) + " of " +
                       placed.graph.blocks[static_cast<std::size_t>(i.block)].name,
                   least.batch.micro_batch_size, bytes};
  return largest;
}

}  // namespace trainx::plan
