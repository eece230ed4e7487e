// Accelerate's YAML (accelerate config).
#include "core/number.hpp"
#include "imports/readers.hpp"
#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"
#include <algorithm>

namespace trainx::imports {

void read_accelerate(Settings& s, bool has_deepspeed_file) {
  map_world(s, "num_processes");  // of all machines
  const std::int64_t machines = s.whole("num_machines").value_or(1);
  if (machines > 1) {
    s.leave("num_machines", "the number of hosts is said at launch: --nnodes");
    if (s.has("machine_rank"))
      s.leave("machine_rank", "the host's number is said at launch: --node-rank");
  } else {
    s.whole("machine_rank");
  }
  const std::int64_t ranks_of_node = s.whole("num_processes").value_or(0) /
                                     std::max<std::int64_t>(machines, 1);
  map_fsdp(s, "fsdp", s.word("distributed_type") == "fsdp", ranks_of_node);
  constexpr std::string_view known_types = "no multi_gpu deepspeed fsdp multi_cpu";
  if (const std::string type = s.word("distributed_type");
      known_types.find(type) == std::string_view::npos) {
    const bool is_megatron = type == "megatron_lm";
    s.leave("distributed_type",
            std::string(is_megatron ? reasons::no_model_parallelism : reasons::other_devices));
  }
  const std::string written = s.word("mixed_precision"),
                    precision = written.empty() ? "no" : written;
  if (precision == "bf16" || precision == "fp16")
    map_precision(s, precision, "mixed_precision", "");
  else if (precision != "no" && precision != "false")
    s.leave("mixed_precision", std::string(reasons::precisions));
  if (s.flag("use_cpu").value_or(false)) s.set("run.device", "cpu", "use_cpu");
  if (const auto steps = s.number("gradient_accumulation_steps"))
    s.set("accumulation", shortest(*steps), "gradient_accumulation_steps");
  Settings deepspeed = s.section("deepspeed_config");
  if (!deepspeed.empty()) {
    map_zero_stage(deepspeed, "zero_stage");
    map_offload(deepspeed, "offload_optimizer_device", "offload_optimizer_nvme_path",
                "memory.optimizer_offload");
    map_offload(deepspeed, "offload_param_device", "offload_param_nvme_path",
                "memory.parameter_offload");
    if (const auto steps = deepspeed.number("gradient_accumulation_steps"))
      deepspeed.set("accumulation", shortest(*steps), "gradient_accumulation_steps");
    if (const auto norm = deepspeed.number("gradient_clipping"))
      deepspeed.set("optimizer.max_grad_norm", shortest(*norm), "gradient_clipping");
    if (has_deepspeed_file) deepspeed.text("deepspeed_config_file");
    leave_rest(deepspeed, accelerate_unmapped(), "Accelerate");
  }
  leave_rest(s, accelerate_unmapped(), "Accelerate");
}

}  // namespace trainx::imports
