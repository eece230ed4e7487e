#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Of weights in the type that products read, which live for the whole step.
constexpr const char* cast_weights_category = "weights in fp8";
/// Of weights that rest on the host.
constexpr const char* weights_on_host_category = "weights on the host";

/// Bytes by category at the peak of the training step, the arena that holds both programs, and the
/// library's share. What of shared weights counts for other ranks is a category below zero.
MemoryPlan plan_memory_budget(const Draft& plan, const Programs& programs);

/// The same without `categories` and `on_host`, which take as long again.
MemoryPlan plan_memory_totals(const Draft& plan, const Programs& programs);

/// Largest buffer of weights on the disk, which loading and saving hold in memory; 0: none are on
/// disk.
std::int64_t largest_weights_on_disk(const program::StepProgram& p);

/// Planned host memory of a process that computes on a GPU; its share of what ranks hold together.
std::int64_t host_need(const MemoryPlan& memory);
/// Share of the host memory (machine or cgroup, per rank) that plans may use: libraries and other
/// processes need the rest. 0: unknown.
std::int64_t plannable_host_bytes(const Draft& plan);

}  // namespace trainx::plan
