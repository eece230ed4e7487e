// DeepSpeed's config JSON. `auto` stands for what TrainingArguments says.
#include "core/number.hpp"
#include "imports/optimizers.hpp"
#include "imports/readers.hpp"
#include "imports/registry.hpp"
#include "imports/schedules.hpp"
#include "imports/unmapped.hpp"
#include <cmath>

namespace trainx::imports {
namespace {

void set_number(Settings& s, const std::string& recipe_key, std::string_view key) {
  if (const auto x = s.number(key)) s.set(recipe_key, shortest(*x), key);
}

void read_batch(Settings& s) {
  for (const auto& [key, ours] : {std::pair{"train_batch_size", "global_batch"},
                                  {"train_micro_batch_size_per_gpu", "rank_batch"},
                                  {"gradient_accumulation_steps", "accumulation"}})
    set_number(s, ours, key);
}

/// Whether the optimizer's states are on the host, where DeepSpeed's CPUAdam updates them.
bool is_offloaded(Settings& s) {
  Settings zero = s.section("zero_optimization"), offload = zero.section("offload_optimizer");
  const std::string device = offload.word("device");
  return device == "cpu" || device == "nvme" || zero.flag("cpu_offload").value_or(false);
}

void read_optimizer(Settings& s, bool offloads, std::optional<double> scheduler_lr) {
  if (s.empty()) return;
  const std::string theirs = s.text("type").value_or("");
  Settings p = s.section("params");
  OptimizerName name{"", "", true, true, ""};
  if (const OptimizerName* found = find_deepspeed_optimizer(theirs)) name = *found;
  const bool is_known = find_deepspeed_optimizer(theirs) != nullptr;
  if (offloads) name.remark = "";  // CPUAdam: the CPU updates here too
  const bool couples_decay = name.ours == "adamw" && !p.flag("adam_w_mode").value_or(true);
  if (couples_decay) name.ours = "adam";
  p.flag("torch_adam");
  map_optimizer(s, "type", is_known ? &name : nullptr, "");
  const auto lr = p.number("lr");
  if (lr && scheduler_lr && *lr != *scheduler_lr)
    p.leave("lr", "the scheduler's warmup_max_lr is used");
  else
    set_number(p, "optimizer.lr", "lr");
  for (const char* option : {"weight_decay", "eps", "momentum"})
    set_number(p, std::string("optimizer.options.") + option, option);
  if (p.flag("nesterov").value_or(false)) p.set("optimizer.options.nesterov", "true", "nesterov");
  map_betas(p, "betas");
  static constexpr Unmapped rest[]{
      {"optimizer.params.bias_correction", "true", "trainx always corrects the bias"},
      {"optimizer.params.amsgrad", "false", "trainx has no AMSGrad", true}};
  leave_rest(p, rest, "DeepSpeed's optimizer");
  leave_rest(s, {}, "DeepSpeed's optimizer");
}

/// MiCS (Zhang et al. 2022, arXiv:2205.00119): stage 3 whose shards lie among so many neighbours.
/// -1: among all.
void read_shard_ranks(Settings& s) {
  constexpr std::string_view key = "mics_shard_size";
  const std::int64_t ranks = s.whole(key).value_or(-1);
  if (ranks == -1) return;
  if (ranks < 1 || ranks > 1 << 16)
    s.refuse(key, "must be -1 or from 1 to 65536, not " + std::to_string(ranks));
  if (!has_stage_3(s)) return s.leave(key, "has an effect in stage 3 only");
  if (ranks == 1) return s.leave(key, "one rank holds all: parallel.mode: ddp does that");
  s.set("parallel.shard_ranks", std::to_string(ranks), key);
}

void read_zero(Settings& s) {
  map_zero_stage(s, "stage");
  read_shard_ranks(s);
  for (const auto& [key, ours] : {std::pair{"offload_optimizer", "memory.optimizer_offload"},
                                  {"offload_param", "memory.parameter_offload"}}) {
    Settings offload = s.section(key);
    const bool is_on = offload.text("device").value_or("none") != "none";
    map_offload(offload, "device", "nvme_path", ours);
    if (is_on && key == std::string_view("offload_optimizer")) map_offload_ratio(offload, "ratio");
    leave_rest(offload, deepspeed_unmapped(), "DeepSpeed");
  }
  if (s.flag("cpu_offload").value_or(false))
    s.set("memory.optimizer_offload.where", "cpu",
          "cpu_offload");  // as it was called before offload_optimizer
  leave_rest(s, deepspeed_unmapped(), "DeepSpeed");
}

// DeepSpeed's loss_scale 0 is a dynamic one, which begins at 2^16 and doubles after 1000 steps.
void read_precision(Settings& s, const std::string& compute) {
  map_precision(s, compute, "enabled", "");
  if (compute != "fp16" || !takes_word("precision.compute", "fp16")) return;
  if (const double fixed = s.number("loss_scale").value_or(0); fixed > 0)
    return s.set("precision.loss_scale", plain_text(*s.take("loss_scale")), "loss_scale");
  const std::int64_t power = s.whole("initial_scale_power").value_or(16),
                     window = s.whole("loss_scale_window").value_or(1000);
  if (power < 0 || power > 100)
    s.refuse("initial_scale_power", "must be from 0 to 100, not " + std::to_string(power));
  if (power != 16)
    s.set("precision.initial_loss_scale", shortest(std::ldexp(1.0, static_cast<int>(power))),
          "initial_scale_power");
  if (s.has("loss_scale_window"))
    s.set("precision.loss_scale_window", std::to_string(window), "loss_scale_window");
  else
    s.assume("precision.loss_scale_window", std::to_string(window), "default of DeepSpeed");
  if (s.whole("hysteresis").value_or(2) > 1 && s.has("hysteresis"))
    s.leave("hysteresis", "the first step that overflows halves the scale");
}

/// For keys that act with another one, which is off or listed itself.
void leave_silent(Settings& s) {
  std::vector<std::string> keys;
  s.for_each_rest([&](const yaml::Entry& entry) { keys.push_back(entry.key); });
  for (const std::string& key : keys) s.take(key);
}

/// Apex's amp, which is fp16 with a loss scale.
void read_amp(Settings& s) {
  Settings amp = s.section("amp");
  if (!amp.flag("enabled").value_or(false)) return leave_silent(amp);
  amp.set("precision.compute", "fp16", "enabled");
  const std::string level = amp.word("opt_level");
  if (level == "o0") amp.leave("opt_level", "O0 is fp32: leave amp out");
  const std::string scale = amp.word("loss_scale");
  if (!scale.empty() && scale != "dynamic") amp.set("precision.loss_scale", scale, "loss_scale");
  leave_silent(amp);
}

void read_communication(Settings& s) {
  const std::string type = s.word("communication_data_type");
  if (type.empty()) return;
  const bool is_bf16 = type == "bf16" || type == "bfp16" || type == "bfloat16";
  const bool is_fp32 = type == "fp32" || type == "float32";
  if (is_bf16 || is_fp32)
    return s.set("precision.reduce", is_bf16 ? "bf16" : "fp32", "communication_data_type");
  s.leave("communication_data_type", "precision.reduce is fp32 or bf16");
}

/// It acts on models that call DeepSpeed's checkpointing; the settings of the model say whether.
void read_recomputation(Settings& s) {
  Settings activations = s.section("activation_checkpointing");
  if (activations.flag("cpu_checkpointing").value_or(false)) {
    activations.set("memory.activation_offload", "cpu", "cpu_checkpointing");
    activations.set("memory.activation_checkpoint", "full", "cpu_checkpointing");
  }
  leave_rest(activations, deepspeed_unmapped(), "DeepSpeed");
}

}  // namespace

void read_deepspeed(Settings& s) {
  read_batch(s);
  set_number(s, "optimizer.max_grad_norm", "gradient_clipping");
  Settings scheduler = s.section("scheduler");
  if (!scheduler.empty()) map_deepspeed_schedule(scheduler);
  Settings optimizer = s.section("optimizer");
  const bool offloads = is_offloaded(s);
  read_optimizer(optimizer, offloads, scheduler.section("params").number("warmup_max_lr"));
  for (const auto& [key, compute] :
       {std::pair{"bf16", "bf16"}, {"bfloat16", "bf16"}, {"fp16", "fp16"}}) {
    if (!s.has(key)) continue;
    Settings precision = s.section(key);
    if (precision.flag("enabled").value_or(false)) read_precision(precision, compute);
    leave_rest(precision, deepspeed_unmapped(), "DeepSpeed");
  }
  read_amp(s);
  read_communication(s);
  read_recomputation(s);
  Settings tensorboard = s.section("tensorboard");
  if (tensorboard.flag("enabled").value_or(false))
    tensorboard.set("metrics.tensorboard", "true", "enabled");
  leave_silent(tensorboard);
  Settings zero = s.section("zero_optimization");
  read_zero(zero);
  leave_rest(s, deepspeed_unmapped(), "DeepSpeed");
}

}  // namespace trainx::imports
