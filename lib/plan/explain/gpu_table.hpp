// One run on each GPU that trainx knows: what `plan --gpu all` prints.
#pragma once
#include "plan/explain/run_length.hpp"
#include "plan/run_plan.hpp"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainx::plan {

struct GpuRow {
  std::string gpu;      // as --gpu takes it
  std::string refusal;  // why the run is not possible there; else empty
  bool fits = false;    // all below is of a run that is possible
  bool is_estimated = false;
  std::int64_t bytes = 0, budget_bytes = 0;  // of a rank
  double step_s = 0, tokens_per_s = 0;       // of all ranks; 0: not predicted
  double tokens_per_joule = 0;               // 0: watts of such a GPU were not measured
  RunLength length;
  BatchPlan batch;
};

/// `plan`: made for that GPU.
GpuRow gpu_row(const std::string& gpu, const RunPlan& plan);

/// Fastest first, then those without a time, then refused ones. `price`: of a GPU hour, in EUR;
/// 0: not given.
void sort_rows(std::vector<GpuRow>& rows);
std::string describe(const std::vector<GpuRow>& rows, double price);
nlohmann::json to_json(const std::vector<GpuRow>& rows, double price);

}  // namespace trainx::plan
