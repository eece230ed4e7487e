// Axolotl's recipes: what they say, and what Axolotl does where they are silent.
#include "core/number.hpp"
#include "imports/adapters.hpp"
#include "imports/argument_dialect.hpp"
#include "imports/model_family.hpp"
#include "imports/optimizers.hpp"
#include "imports/readers.hpp"
#include "imports/reasons.hpp"
#include "imports/registry.hpp"
#include "imports/run_length.hpp"
#include "imports/schedules.hpp"
#include "imports/trainer.hpp"
#include "imports/unmapped.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace trainx::imports {
namespace {

const std::string axolotl_default = "default of Axolotl";

class AxolotlReader {
 public:
  AxolotlReader(Settings& settings, bool has_deepspeed_file)
      : s_(settings), has_deepspeed_file_(has_deepspeed_file) {}

  void read() {
    adapters();
    model();
    duration();
    batch();
    precision();
    memory();
    optimizer();
    schedule();
    intervals();
    data();
    map_deepspeed(s_, has_deepspeed_file_);
    map_fsdp(s_, "fsdp", s_.has("fsdp_config") || s_.has("fsdp_version"));
    s_.whole("fsdp_version");
    map_timeout(s_);
    leave_rest(s_, axolotl_unmapped(), "Axolotl");
  }

 private:
  void number(const std::string& recipe_key, std::string_view key, const std::string& otherwise) {
    if (const auto x = s_.number(key))
      s_.set(recipe_key, shortest(*x), key, otherwise);
    else
      s_.assume(recipe_key, otherwise, axolotl_default);
  }

  void adapters() {
    const std::string adapter = s_.word("adapter");
    if (adapter.empty()) return;
    if (adapter != "lora" && adapter != "qlora")
      return s_.leave("adapter", std::string(reasons::no_such_adapter), true);
    map_lora(s_, "adapter",
             {.rank = "lora_r",
              .alpha = "lora_alpha",
              .dropout = "lora_dropout",
              .rslora = "peft_use_rslora",
              .dora = "peft_use_dora",
              .targets = "lora_target_modules",
              .parameters = "lora_target_parameters",
              .saved = "lora_modules_to_save",
              .excluded = "lora_exclude_modules",
              .layers = "peft_layers_to_transform",
              .rank_pattern = "lora_rank_pattern",
              .alpha_pattern = "lora_alpha_pattern",
              .tokens = "peft_trainable_token_indices",
              .tying = "peft_ensure_weight_tying"},
             {.tool = axolotl_default, .rank = "", .alpha = "", .dropout = "0"});
    s_.flag("lora_fan_in_fan_out");  // how weights are stored
    targets();
    for (const auto& [key, usual] :
         {std::pair{"peft_init_lora_weights", "true|false"}, {"peft_layer_replication", ""}})
      if (const yaml::Node* node = s_.take(key); node && !is_default(*node, usual))
        s_.leave(key, std::string(reasons::no_variant), true);
    for (const auto& [key, bits] : {std::pair{"load_in_4bit", 4}, {"load_in_8bit", 8}})
      if (s_.flag(key).value_or(false)) map_quantized_base(s_, key, bits);
    map_trained_adapter(s_, "lora_model_dir");
  }

  /// lora_target_linear adds all linear layers to those that are named.
  void targets() {
    if (s_.flag("lora_target_linear").value_or(false)) {
      s_.take("lora_target_modules");
      return map_all_linear(s_, "lora_target_linear", AllLinear::by_class);
    }
    if (s_.has("lora_target_modules"))
      map_targets(s_, "lora_target_modules", "", AllLinear::of_peft);
    else if (!s_.has("lora_target_parameters") && !s_.has("lora_model_dir"))
      s_.draft().ask("model.adapter.targets", "all_linear, or names of modules");
  }

  void model() {
    const std::string name = s_.text("base_model").value_or("");
    if (!name.empty()) leave_model(s_, "base_model", name);
  }

  void duration() {
    const double epochs = s_.number("num_epochs").value_or(1);
    const std::int64_t steps = s_.whole("max_steps").value_or(0);
    const char* key = steps > 0 ? "max_steps" : "num_epochs";
    length_ = steps > 0 ? of_steps(steps) : Duration{epochs, Duration::Unit::epochs};
    if (!(length_.amount > 0)) s_.refuse(key, "must be greater than 0");
    if (s_.has(key))
      s_.set("run.duration", to_string(length_), key);
    else
      s_.assume("run.duration", to_string(length_), axolotl_default);
    map_output_dir(s_);
    if (const auto seed = s_.whole("seed")) s_.set("run.seed", std::to_string(*seed), "seed", "42");
  }

  /// `batch_size`, of all micro-steps of a rank, acts if gradient_accumulation_steps is missing.
  void batch() {
    number("rank_batch", "micro_batch_size", "1");
    const auto accumulation = s_.whole("gradient_accumulation_steps");
    const auto batch = s_.whole("batch_size");
    const std::int64_t micro = s_.whole("micro_batch_size").value_or(1);
    if (!accumulation && batch) {
      if (micro < 1 || *batch % micro != 0)
        s_.refuse("batch_size", "must be a multiple of micro_batch_size");
      s_.set("accumulation", std::to_string(*batch / micro), "batch_size");
    } else {
      number("accumulation", "gradient_accumulation_steps", "1");
      if (batch) s_.leave("batch_size", "micro_batch_size and gradient_accumulation_steps say it");
    }
    if (s_.flag("auto_find_batch_size").value_or(false))
      s_.set("memory.fit", "true", "auto_find_batch_size");
  }

  void precision() {
    const std::string bf16 = s_.word("bf16");
    const bool pure_bf16 = s_.flag("bfloat16").value_or(false) || bf16 == "full";
    const bool pure_fp16 = s_.flag("float16").value_or(false);
    const bool fp16 = s_.flag("fp16").value_or(false) || pure_fp16,
               tf32 = s_.flag("tf32").value_or(false);
    const bool is_on = bf16 == "auto" || bf16 == "true" || bf16 == "yes" || bf16 == "full" ||
                       s_.flag("bfloat16").value_or(false);
    std::string compute;
    if (is_on)
      compute = "bf16", s_.set("precision.compute", compute, s_.has("bf16") ? "bf16" : "bfloat16");
    else if (fp16)
      compute = "fp16", map_precision(s_, compute, s_.has("fp16") ? "fp16" : "float16", "");
    else if (tf32)
      compute = "tf32", map_precision(s_, compute, "tf32", "");
    else if (!s_.is_written("bf16"))
      compute = "bf16", s_.assume("precision.compute", compute, axolotl_default);
    if (pure_bf16)
      s_.draft().remark("precision.compute",
                        "for weights in bf16 alone add precision.master: none");
    if (tf32 && (compute == "bf16" || compute == "fp16")) leave_tf32(s_, compute);
    s_.flag("float32");
    if (s_.flag("fp8").value_or(false)) s_.leave("fp8", std::string(reasons::precisions));
  }

  void memory() {
    const std::string recompute = s_.word("gradient_checkpointing");
    if (!recompute.empty() && recompute != "false")
      s_.set("memory.activation_checkpoint", "full", "gradient_checkpointing");
    const std::string offload = s_.word("activation_offloading");
    const bool by_name = recompute == "offload" || recompute == "offload_disk";
    const char* key = by_name ? "gradient_checkpointing" : "activation_offloading";
    if (by_name || (!offload.empty() && offload != "false"))
      s_.set("memory.activation_offload", "cpu", key);
    if (recompute == "offload_disk" || offload == "disk")
      s_.leave(key,
               "memory.activation_offload: cpu keeps activations on the host; trainx has no disk "
               "for them");
    map_workers(s_);
  }

  void optimizer() {
    const std::string written = s_.word("optimizer"),
                      theirs = written.empty() ? "adamw_torch_fused" : written;
    const OptimizerName* name = find_transformers_optimizer(theirs);
    const bool is_mapped =
        map_optimizer(s_, "optimizer", name, "adamw_torch_fused|adamw_torch|adamw_hf");
    if (const auto lr = s_.number("learning_rate"))
      s_.set("optimizer.lr", shortest(*lr), "learning_rate");
    number("optimizer.max_grad_norm", "max_grad_norm", "1");
    number("optimizer.options.weight_decay", "weight_decay", "0");
    for (const auto& [option, key, otherwise] : {std::tuple{"beta1", "adam_beta1", "0.9"},
                                                 {"beta2", "adam_beta2", "0.999"},
                                                 {"eps", "adam_epsilon", "1e-8"}}) {
      const bool takes = name && (std::string_view(option) == "eps" ? name->eps : name->betas);
      if (takes)
        number(std::string("optimizer.options.") + option, key, otherwise);
      else if (s_.number(key))
        s_.leave(key, "transformers gives it to Adam and its variants only");
    }
    if (is_mapped) map_embeddings(s_, "optimizer", theirs);
    map_optimizer_arguments(s_, is_mapped ? std::string(name->ours) : "");
  }

  /// Without either key 3 % of the run, at most 100 steps.
  void schedule() {
    constexpr double share = 0.03, most = 100;
    const double steps = s_.number("warmup_steps").value_or(0),
                 ratio = s_.number("warmup_ratio").value_or(0);
    for (const auto& [key, x] : {std::pair{"warmup_steps", steps}, {"warmup_ratio", ratio}})
      if (x < 0 || x > 1e15) s_.refuse(key, "must be from 0 to 1e15");
    const bool is_said = steps > 0 || ratio > 0;
    Duration warmup = steps > 0 ? of_steps(static_cast<std::int64_t>(steps))
                                : part_of(length_, is_said ? ratio : share);
    if (!is_said && warmup.unit == Duration::Unit::steps)
      warmup.amount = std::min(std::floor(length_.amount * share), most);
    const auto lr = s_.number("learning_rate");
    map_transformers_schedule(s_, warmup, steps > 0 ? "warmup_steps" : "warmup_ratio", lr,
                              "lr_scheduler", "cosine");
    if (!is_said) s_.draft().remark("schedule.warmup", "3 % of the run, at most 100 steps");
    const double least = s_.number("cosine_min_lr_ratio").value_or(0);
    const Value* type = s_.draft().find("schedule.type");
    if (least > 0 && type && type->text == "cosine")
      s_.set("schedule.final_ratio", shortest(least), "cosine_min_lr_ratio");
    else if (least > 0)
      s_.leave("cosine_min_lr_ratio", "has an effect with the cosine schedule only");
  }

  /// N times an epoch, at `key`; else every so many steps, or a share of the run, at `steps_key`.
  std::optional<Duration> every(std::string_view key, std::string_view steps_key) {
    if (const auto times = s_.number(key)) {
      if (!(*times > 0)) s_.refuse(key, "must be greater than 0");
      return Duration{tidy(1 / *times), Duration::Unit::epochs};
    }
    if (const auto steps = s_.number(steps_key)) return interval(s_, steps_key, *steps, length_);
    return std::nullopt;
  }

  void intervals() {
    constexpr double share = 0.005, most = 10;
    if (const auto steps = s_.number("logging_steps")) {
      s_.set("metrics.every", to_string(interval(s_, "logging_steps", *steps, length_)),
             "logging_steps");
    } else {
      const bool in_steps = length_.unit == Duration::Unit::steps;
      const double ours = in_steps ? std::clamp(std::floor(length_.amount * share), 1.0, most)
                                   : most;
      s_.assume("metrics.every", to_string(of_steps(static_cast<std::int64_t>(ours))),
                axolotl_default);
    }
    if (s_.flag("use_tensorboard").value_or(false))
      s_.set("metrics.tensorboard", "true", "use_tensorboard");
    saving();
    evaluation();
  }

  void saving() {
    const auto interval = every("saves_per_epoch", "save_steps");
    const char* key = s_.has("saves_per_epoch") ? "saves_per_epoch" : "save_steps";
    const std::string when = strategy(s_, "save_strategy", "save_strategy", "epoch");
    if (interval) {
      s_.set("checkpoint.every", to_string(*interval), key);
    } else if (when == "no") {
      s_.set("checkpoint.every", to_string(length_), "save_strategy");
      s_.leave("save_strategy", "trainx always saves the last step");
    } else {
      s_.set("checkpoint.every", "1 epoch", "save_strategy");
    }
    const std::int64_t keep = s_.whole("save_total_limit").value_or(0);
    if (keep > 0)
      s_.set("checkpoint.keep_last", std::to_string(keep), "save_total_limit");
    else
      s_.assume("checkpoint.keep_last", "4", axolotl_default);
  }

  void evaluation() {
    const auto interval = every("evals_per_epoch", "eval_steps");
    const char* key = s_.has("evals_per_epoch") ? "evals_per_epoch" : "eval_steps";
    const std::string when = strategy(s_, "eval_strategy", "evaluation_strategy", "epoch");
    map_held_out(s_, "val_set_size");
    const bool evaluates = s_.number("val_set_size").value_or(0) > 0 || s_.has("test_datasets");
    map_best_metric(s_);
    early_stopping();
    if (!evaluates || (!interval && when == "no")) return;
    if (interval)
      s_.set("eval.every", to_string(*interval), key);
    else
      s_.set("eval.every", "1 epoch", "eval_strategy");
    s_.assume("eval.batches", "all", "Axolotl evaluates the whole set");
  }

  void early_stopping() {
    const auto patience = s_.whole("early_stopping_patience");
    if (!patience) return;
    const char* key = "eval.early_stopping.patience";
    if (has_key(key))
      s_.set(key, std::to_string(*patience), "early_stopping_patience");
    else
      s_.leave("early_stopping_patience",
               "trainx trains to the end; `best` is the checkpoint to use");
  }

  void data() {
    s_.set("data.sequence_length", std::to_string(s_.whole("sequence_len").value_or(512)),
           "sequence_len");
    if (s_.flag("group_by_length").value_or(false))
      s_.set("data.group_by_length", "true", "group_by_length");
    const yaml::Node* sets = s_.take("datasets");
    if (!sets) return;
    std::string names;
    for (const yaml::Node& set : sets->items) {
      const yaml::Entry *path = set.find("path"), *type = set.find("type");
      if (!path) continue;
      names += (names.empty() ? "" : ", ") + yaml::excerpt(plain_text(path->value));
      if (type && type->value.is_scalar()) names += " of type " + yaml::excerpt(type->value.text);
    }
    s_.leave("datasets", (names.empty() ? "" : names + ": ") + std::string(reasons::names_data));
  }

  Settings& s_;
  bool has_deepspeed_file_;
  Duration length_;
};

}  // namespace

void read_axolotl(Settings& settings, bool has_deepspeed_file) {
  AxolotlReader(settings, has_deepspeed_file).read();
}

}  // namespace trainx::imports
