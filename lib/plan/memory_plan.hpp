#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// (Re)makes plan.train and plan.evaluate from the decided dimensions, batch, precision and memory section.
void plan_programs(RunPlan& plan);

/// Bytes by category at the peak of the training step, the arena that holds both programs, and the library's share.
MemoryPlan plan_memory_budget(const RunPlan& plan);

/// What loading and saving have in memory at a time of weights on the disk; 0: none are there.
std::int64_t largest_weights_on_disk(const program::StepProgram& p);

/// "batch.micro_batch_size 8 with memory.activation_checkpoint full would fit (3.1 GiB)"; "" where nothing in the recipe makes it fit into so many bytes.
std::string what_would_fit(const RunPlan& plan, std::int64_t bytes);

/// Whether an optimizer that is on the GPU could be on the host: it keeps something, and does not sum over tensors of which there are parts alone.
bool may_update_on_host(const RunPlan& plan);

/// Whether weights that are on the GPU could be on the host: the mode does not hold all of them for the whole step.
bool may_keep_weights_on_host(const RunPlan& plan);

/// Host memory that the process takes beside a GPU, as far as it is planned.
std::int64_t host_need(const MemoryPlan& memory);
/// Of the memory that the machine (cgroup) has for a rank, what may be planned: the rest is left to what is not, this process's libraries and other processes. 0: not known.
std::int64_t plannable_host_bytes(const RunPlan& plan);

/// What would take less of it: "recompute more (memory.activation_checkpoint), which ...".
std::string what_needs_less_host_memory(const RunPlan& plan);

/// Throws UserError 71 when the plan exceeds its budget, or what the host has: by how much, and which activation_checkpoint or micro_batch_size would fit.
void require_fits(const RunPlan& plan);

}  // namespace trainx::plan
