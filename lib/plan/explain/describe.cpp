#include "plan/explain/describe.hpp"
#include "plan/explain/report_sections.hpp"

namespace trainx::plan {

Report report_of(const RunPlan& plan, bool with_program, double price_per_gpu_hour) {
  return {batch_section(plan, price_per_gpu_hour),
          choices_section(plan),
          model_section(plan),
          memory_section(plan),
          checkpoints_section(plan),
          stages_section(plan),
          ranks_section(plan),
          time_section(plan, price_per_gpu_hour),
          kernels_section(plan),
          program_section(plan, with_program),
          notes_section(plan)};
}

std::string describe(const RunPlan& plan, bool with_program) {
  return text_of(report_of(plan, with_program, 0));
}

nlohmann::json to_json(const RunPlan& plan, bool with_program) {
  return json_of(report_of(plan, with_program, 0));
}

}  // namespace trainx::plan
