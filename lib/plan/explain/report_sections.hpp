// The sections of a plan's report, in the order in which they are printed.
#pragma once
#include "plan/explain/report.hpp"
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// `price_per_gpu_hour`: in EUR; 0: not given.
ReportSection batch_section(const RunPlan& plan, double price_per_gpu_hour);
ReportSection choices_section(const RunPlan& plan);
ReportSection model_section(const RunPlan& plan);
ReportSection memory_section(const RunPlan& plan);
ReportSection checkpoints_section(const RunPlan& plan);
ReportSection ranks_section(const RunPlan& plan);
/// Of a pipeline; else without facts.
ReportSection stages_section(const RunPlan& plan);
ReportSection time_section(const RunPlan& plan, double price_per_gpu_hour);
/// Of a GPU for which a build can have kernels; else without facts.
ReportSection kernels_section(const RunPlan& plan);
ReportSection program_section(const RunPlan& plan, bool with_program);
ReportSection notes_section(const RunPlan& plan);

}  // namespace trainx::plan
