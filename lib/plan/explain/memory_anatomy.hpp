// Where memory goes: what was planned beside what was measured, category by category.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Of a worker that has run steps.
struct MeasuredMemory {
  // by buffer of the first training program: what instructions were given of it
  std::vector<std::int64_t> operand_bytes;
  std::int64_t arena_bytes = 0;    // allocated
  std::int64_t peak_bytes = 0;     // the arena and what was taken beside it
  std::int64_t process_bytes = 0;  // as the kernel or the driver sees it
};

struct MemoryRow {
  std::string name;
  std::int64_t predicted = 0, measured = 0;
};
/// The categories of the plan at the step's peak, what libraries take beside the arena, and the
/// rest of the process (on a GPU its context and kernels). The measured ones add up to
/// process_bytes.
std::vector<MemoryRow> memory_anatomy(const RunPlan& plan, const MeasuredMemory& measured);

std::string describe_memory(const RunPlan& plan, const std::vector<MemoryRow>& rows);
nlohmann::json memory_json(const RunPlan& plan, const std::vector<MemoryRow>& rows);

}  // namespace trainx::plan
