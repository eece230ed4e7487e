// What came out of a step and of an evaluation, and how it is written down.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainx::metrics {

/// How a step's tokens were spread over experts.
struct ExpertLoad {
  // most tokens of an expert, by the mean of its layer's: the largest of all layers
  double largest = 1;
  // entropy of a layer's loads, by that of even loads: the least of all layers
  double entropy = 1;
  double dropped = 0;  // choices that no expert computed, in all layers
};

/// Elements that were cast to fp8 for products, by class of tensor: inputs, weights, output
/// gradients.
struct Fp8Shares {
  static constexpr int classes = 3;
  static constexpr const char* names[classes] = {"inputs", "weights", "gradients"};
  // of all elements: those that became zero and were not; those that were cut to the largest value
  double flushed[classes] = {}, saturated[classes] = {};
};

struct StepReport {
  std::int64_t step = 0;  // counts from 1
  // mean over the target tokens of all steps since the last logged one
  double loss = 0;
  // of this step alone, before its update; NaN where it diverged
  double step_loss = 0;
  double grad_norm = 0;          // before clipping
  double lr = 0;                 // used by this step
  double epoch = 0;              // passes over the training data so far
  double unix_time_s = 0;        // UTC, seconds since 1970, when the step was logged
  std::int64_t tokens_seen = 0;  // since the run's first step
  double tokens_per_second = 0;
  double step_time_ms = 0;
  double data_wait_ms = 0;             // of step_time_ms
  std::int64_t peak_memory_bytes = 0;  // the arena and what libraries took beside it
  std::int64_t device_memory_bytes =
      0;                             // of the whole process, as the driver or the kernel sees it
  std::int64_t applied_steps = 0;    // steps whose update reached the weights
  std::optional<double> loss_scale;  // used by this step, under fp16
  // of a loss of the user's own, by name: means over all steps since the last logged one
  std::map<std::string, double> metrics;
  std::optional<ExpertLoad> experts;  // of this step, of a mixture of experts
  std::optional<Fp8Shares> fp8;       // of this step, of products in fp8
  // Of a GPU, since the last report; nothing where it is not known.
  // model FLOPs a second, as a share of what the chip could do (Chowdhery et al. 2022,
  // arXiv:2204.02311)
  std::optional<double> mfu;
  std::optional<double> joules_per_token;
  // share of the time in which the power limit lowered the clock
  std::optional<double> power_capped;
  std::optional<std::int64_t> clock_mhz;  // at the end
  std::string clock_reason;               // why it is below its most
  // by something else than the power limit, which is the rule under full load
  bool clock_held_down = false;
  std::optional<double> watts;  // at the end
  // share of the last moments in which a kernel ran, and in which memory was read or written
  std::optional<double> gpu_utilization, memory_utilization;
  std::optional<std::int64_t> temperature_celsius;
  // of the GPU's memory, by all processes
  std::optional<std::int64_t> device_used_bytes, device_total_bytes;
};

struct EvalReport {
  std::int64_t step = 0;
  double loss = 0;                        // per target
  std::int64_t targets = 0;               // it is the mean of
  std::map<std::string, double> metrics;  // what else the model tells: perplexity, accuracy, f1
  std::optional<double> entropy_floor;    // nats per token that no model can go below, where known
  // global batches evaluated, of those in the held-out set; 0: not known
  std::int64_t batches = 0, all_batches = 0;
  double epoch = 0, unix_time_s = 0;  // as in StepReport; 0: not known
};

/// Products that no longer have operands in fp8 behind this step.
struct Fp8Fallback {
  std::int64_t step = 0;
  std::vector<std::string> weights;  // of those products, by name
  std::int64_t products = 0;         // that have fallen back since the run began
  double unix_time_s = 0;
};

/// A text that the model wrote during training.
struct SampleReport {
  std::int64_t step = 0;
  std::string prompt, text;  // text: with the prompt
  double unix_time_s = 0;
};

/// A checkpoint that is whole on disk.
struct CheckpointReport {
  std::int64_t step = 0;
  std::string path;
  double waited_s = 0;  // that training stood still for it
  double seconds = 0;   // from its beginning
};

/// Keys as the members, and those of StepReport::metrics; of an evaluation eval_loss, eval_targets,
/// eval_batches, eval_all_batches, eval_entropy_floor and eval_ before each of `metrics`, beside
/// step, epoch and unix_time_s. Not-a-number becomes null.
nlohmann::ordered_json to_json(const StepReport& report);
nlohmann::ordered_json to_json(const EvalReport& report);
nlohmann::ordered_json to_json(const SampleReport& report);
nlohmann::ordered_json to_json(const Fp8Fallback& report);
/// Is it a key that lines of metrics.jsonl have of trainx itself, which no metric may take?
bool is_own_key(const std::string& name);
/// Now, for the field unix_time_s: to a millisecond.
double unix_time_s();
/// One line without its end; bytes that are not UTF-8 are replaced.
std::string json_line(const nlohmann::ordered_json& object);

}  // namespace trainx::metrics
