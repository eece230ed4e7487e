#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Of weights in the type that products read, which live for the whole step.
constexpr const char* cast_weights_category = "weights in fp8";

/// Bytes by category at the peak of the training step, the arena that holds both programs, and the
/// library's share.
MemoryPlan plan_memory_budget(const Decisions& plan, const Programs& programs);

/// The same without `categories` and `on_host`, which take as long again.
MemoryPlan plan_memory_totals(const Decisions& plan, const Programs& programs);

/// Largest buffer of weights on the disk, which loading and saving hold in memory; 0: none are on
/// disk.
std::int64_t largest_weights_on_disk(const program::StepProgram& p);

/// "batch.micro_batch_size 8 with memory.activation_checkpoint full would fit (3.1 GiB)"; "" if no
/// candidate fits `bytes`.
std::string what_would_fit(const Decisions& plan, std::int64_t bytes);

/// Whether a GPU's optimizer could move to the host: it has states, and needs no sums over sharded
/// tensors.
bool may_update_on_host(const Decisions& plan);

/// Whether weights could move to the host: the mode does not keep all of them on the GPU.
bool may_keep_weights_on_host(const Decisions& plan);

/// Planned host memory of a process that computes on a GPU.
std::int64_t host_need(const MemoryPlan& memory);
/// Share of the host memory (machine or cgroup, per rank) that plans may use: libraries and other
/// processes need the rest. 0: unknown.
std::int64_t plannable_host_bytes(const Decisions& plan);

/// A remedy: "recompute more (memory.activation_checkpoint), which ...".
std::string what_needs_less_host_memory(const Decisions& plan, const MemoryPlan& memory);

/// Throws UserError 71 if the plan exceeds its budget or the host's memory: by how much, and what
/// would fit.
void require_fits(const Decisions& plan, const MemoryPlan& memory);

}  // namespace trainx::plan
