// Runs that do not fit: by how much, and what would.
#pragma once
#include "plan/drafted.hpp"
#include "plan/prediction.hpp"
#include <cstdint>
#include <string>

namespace trainx::plan {

/// The fastest way to run the recipe in so many bytes, as keys to write, with what it takes:
/// "memory.activation_checkpoint full would fit (3.1 GiB, 212 ms a step)"; "" if there is none.
/// `rates` null: times are not known, and what changes least is named. `again` null: the ranks that
/// share a batch stay.
std::string what_would_fit(const Draft& plan, std::int64_t bytes, const program::Rates* rates,
                           const Redraft* again = nullptr);

/// A remedy: "recompute more (memory.activation_checkpoint), which ...".
std::string what_needs_less_host_memory(const Draft& plan, const MemoryPlan& memory);

/// Throws UserError 71 if the plan exceeds its budget or the host's memory: by how much, and what
/// would fit; if nothing does, which block is too large.
void require_fits(const Draft& plan, const MemoryPlan& memory, const program::Rates* rates,
                  const Redraft* again);

}  // namespace trainx::plan
