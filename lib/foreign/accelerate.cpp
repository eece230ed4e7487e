// Accelerate's YAML (accelerate config).
#include "core/number.hpp"
#include "foreign/readers.hpp"
#include "foreign/unmapped.hpp"
#include <algorithm>

namespace trainx::foreign {

void read_accelerate(Settings& s, bool has_deepspeed_file) {
  map_world(s, "num_processes");
  s.whole("num_machines");              // num_processes counts all machines'
  std::string precision = s.text("mixed_precision").value_or("no");
  std::transform(precision.begin(), precision.end(), precision.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c); });
  if (precision == "bf16" || precision == "fp16") map_precision(s, precision, "mixed_precision", "");
  else if (precision != "no" && precision != "false") s.leave("mixed_precision", "precision is fp32, tf32, bf16 or fp16");
  if (s.flag("use_cpu").value_or(false)) s.set("run.device", "cpu", "use_cpu");
  if (const auto steps = s.number("gradient_accumulation_steps")) s.set("accumulation", shortest(*steps), "gradient_accumulation_steps");
  Settings deepspeed = s.section("deepspeed_config");
  if (!deepspeed.empty()) {
    map_zero_stage(deepspeed, "zero_stage");
    map_offload(deepspeed, "offload_optimizer_device", "offload_optimizer_nvme_path", "memory.optimizer_offload");
    map_offload(deepspeed, "offload_param_device", "offload_param_nvme_path", "memory.parameter_offload");
    if (const auto steps = deepspeed.number("gradient_accumulation_steps")) deepspeed.set("accumulation", shortest(*steps), "gradient_accumulation_steps");
    if (const auto norm = deepspeed.number("gradient_clipping")) deepspeed.set("optimizer.max_grad_norm", shortest(*norm), "gradient_clipping");
    if (has_deepspeed_file) deepspeed.text("deepspeed_config_file");
    leave_rest(deepspeed, accelerate_unmapped(), "Accelerate");
  }
  leave_rest(s, accelerate_unmapped(), "Accelerate");
}

}  // namespace trainx::foreign
