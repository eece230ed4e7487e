// A GPT-2 of 124M, planned for a GPU and the host beside it: for tests of what lies where.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

/// As NVML tells of one.
inline trainx::facts::Gpu h200_gpu() { return {"NVIDIA H200", 90, 150754820096}; }

struct PlannedOn {
  std::int64_t host_bytes = std::int64_t{64} << 30;  // 0: the host does not say
  std::string gpu = "h200";                          // another machine's; empty: this one's
  std::vector<trainx::facts::Gpu> gpus{};            // of this machine
  double disk_bytes_per_s = 0;                       // 0: not measured
};

/// `more`: further keys of the recipe, whole lines.
inline trainx::recipe::Recipe gpt2_recipe(const std::string& more) {
  return trainx::recipe::parse_recipe(
             "model: {type: gpt2, size: 124m}\ndata: {type: stories, sequence_length: 256}\nbatch: "
             "{global_batch_size: 8, micro_batch_size: 4}\n" +
                 more,
             "test")
      .recipe;
}

inline trainx::plan::RunPlan planned(const trainx::recipe::Recipe& recipe, const PlannedOn& on) {
  trainx::facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = on.host_bytes;
  if (on.gpu.empty()) f.hardware.gpus = on.gpus;
  f.offload_folder = {{"/scratch", std::int64_t{1} << 40, on.disk_bytes_per_s}};
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return trainx::plan::make_run_plan(recipe, f, {.gpu = on.gpu});
}

inline std::int64_t on_host(const trainx::plan::RunPlan& plan, const std::string& what) {
  for (const auto& [name, bytes] : plan.memory.on_host)
    if (name == what) return bytes;
  return 0;
}
