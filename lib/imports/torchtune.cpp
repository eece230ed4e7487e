// torchtune's recipes: YAML whose maps name Python builders as `_component_`.
#include "core/number.hpp"
#include "imports/adapters.hpp"
#include "imports/model_family.hpp"
#include "imports/readers.hpp"
#include "imports/reasons.hpp"
#include "imports/registry.hpp"
#include "imports/run_length.hpp"
#include "imports/schedules.hpp"
#include "imports/trainer.hpp"
#include "imports/unmapped.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <iterator>

namespace trainx::imports {
namespace {

/// A builder of an optimizer by the last part of its name, in lower case.
struct TorchOptimizer {
  std::string_view theirs, ours;  // ours empty: trainx has no such thing
  std::string_view weight_decay;  // its default there
  std::string_view remark;
};
constexpr TorchOptimizer torch_optimizers[]{
    {"torch.optim.adamw", "adamw", "0.01", ""},
    {"torch.optim.adam", "adam", "0", ""},
    {"torch.optim.sgd", "sgd", "0", ""},
    {"torch.optim.adagrad", "adagrad", "0", ""},
    {"bitsandbytes.optim.adamw", "adamw", "0.01", ""},
    {"bitsandbytes.optim.adamw8bit", "adamw_8bit", "0.01", ""},
    {"bitsandbytes.optim.pagedadamw", "adamw", "0.01", reasons::no_paging},
    {"bitsandbytes.optim.pagedadamw8bit", "adamw_8bit", "0.01", reasons::no_paging},
    {"torchao.optim.adamw8bit", "adamw_8bit", "0.01", reasons::own_8bit_format},
    {"torchao.prototype.low_bit_optim.adamw8bit", "adamw_8bit", "0.01", reasons::own_8bit_format},
};

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

class TorchtuneReader {
 public:
  explicit TorchtuneReader(Settings& settings) : s_(settings) {}

  void read() {
    model();
    duration();
    batch();
    precision();
    memory();
    optimizer();
    schedule();
    intervals();
    data();
    loss();
    leave_rest(s_, torchtune_unmapped(), "torchtune");
  }

 private:
  void switched_on(const std::string& recipe_key, const std::string& yaml, std::string_view key) {
    if (s_.flag(key).value_or(false)) s_.set(recipe_key, yaml, key);
  }

  /// torchtune.models.llama3_2.lora_llama3_2_1b: the family, and its size or adapter.
  void model() {
    Settings model = s_.section("model");
    const std::string builder = model.text("_component_").value_or(""), name = last_part(builder);
    if (builder.empty()) return;
    if (name.starts_with("lora_") || name.starts_with("qlora_") || name.starts_with("dora_"))
      adapter(model, name);
    leave_model(model, "_component_", builder);
    leave_rest(model, torchtune_unmapped(), "torchtune");
  }

  void adapter(Settings& model, const std::string& builder) {
    map_lora(
        model, "_component_",
        {.rank = "lora_rank", .alpha = "lora_alpha", .dropout = "lora_dropout", .dora = "use_dora"},
        {.tool = "default of torchtune", .rank = "8", .alpha = "16", .dropout = "0"});
    if (builder.starts_with("dora_"))
      model.leave("_component_", std::string(reasons::no_dora), true);
    if (builder.starts_with("qlora_") || model.flag("quantize_base").value_or(false))
      map_quantized_base(model, model.has("quantize_base") ? "quantize_base" : "_component_", 4);
    // Layers that torchtune keeps apart are one in these families.
    const bool is_fused = builder.find("phi3") != std::string::npos ||
                          builder.find("phi4") != std::string::npos;
    const std::vector<std::string> projections{"q_proj", "k_proj", "v_proj"};
    auto asked = model.words("lora_attn_modules");
    std::vector<std::string> targets;
    const auto takes = [&](const std::string& name) { return std::ranges::count(asked, name) > 0; };
    const bool has_all = std::ranges::all_of(projections, takes);
    if (is_fused && has_all) targets.push_back("qkv_proj");
    if (is_fused && !has_all && std::ranges::any_of(projections, takes))
      model.leave("lora_attn_modules",
                  "are one layer in this family, qkv_proj, which model.adapter.targets can name",
                  true);
    if (!is_fused) std::ranges::copy_if(projections, std::back_inserter(targets), takes);
    if (takes("output_proj")) targets.push_back("o_proj");
    if (model.flag("apply_lora_to_mlp").value_or(false))
      for (const char* layer : {"gate_proj", "up_proj", "down_proj"})
        if (!is_fused || std::string_view(layer) != "up_proj")
          targets.push_back(is_fused && std::string_view(layer) == "gate_proj" ? "gate_up_proj"
                                                                               : layer);
    if (model.flag("apply_lora_to_output").value_or(false)) targets.push_back("lm_head");
    if (targets.empty())
      s_.draft().ask("model.adapter.targets", "all_linear, or names of modules");
    else
      model.set("model.adapter.targets", recipe::write_value(options::NameList(targets)),
                "lora_attn_modules");
  }

  void duration() {
    const auto epochs = s_.number("epochs");
    const std::int64_t steps = s_.whole("max_steps_per_epoch").value_or(0);
    if (epochs && !(*epochs > 0)) s_.refuse("epochs", "must be greater than 0");
    if (steps < 0) s_.refuse("max_steps_per_epoch", "must not be negative");
    length_ = {epochs.value_or(1), Duration::Unit::epochs};
    if (steps > 0)
      length_ =
          of_steps(static_cast<std::int64_t>(epochs.value_or(1) * static_cast<double>(steps)));
    if (steps > 0)
      s_.set("run.duration", to_string(length_), "max_steps_per_epoch");
    else if (epochs)
      s_.set("run.duration", to_string(length_), "epochs");
    map_output_dir(s_);
    if (const auto seed = s_.whole("seed")) s_.set("run.seed", std::to_string(*seed), "seed");
    if (s_.word("device") == "cpu")
      s_.set("run.device", "cpu", "device");
    else if (const std::string device = s_.word("device");
             !device.empty() && !device.starts_with("cuda"))
      s_.leave("device", std::string(reasons::other_devices));
  }

  void batch() {
    if (const auto size = s_.number("batch_size"))
      s_.set("rank_batch", shortest(*size), "batch_size");
    if (const auto steps = s_.number("gradient_accumulation_steps"))
      s_.set("accumulation", shortest(*steps), "gradient_accumulation_steps");
  }

  void precision() {
    const std::string type = s_.word("dtype");
    const bool is_known = type.empty() || type == "fp32" || type == "bf16" || type == "fp16";
    if (!is_known)
      s_.leave("dtype", std::string(reasons::precisions));
    else if (!type.empty())
      map_precision(s_, type, "dtype", "fp32");
    if (type == "bf16")
      s_.draft().remark("precision.compute",
                        "torchtune keeps weights in bf16 alone; precision.master: none does that");
  }

  void memory() {
    switched_on("memory.activation_checkpoint", "full", "enable_activation_checkpointing");
    switched_on("memory.activation_offload", "cpu", "enable_activation_offloading");
    switched_on("optimizer.update_in_backward", "true", "optimizer_in_bwd");
    if (!s_.flag("fsdp_cpu_offload").value_or(false)) return map_strategy();
    s_.set("parallel.mode", "zero3", "fsdp_cpu_offload");
    s_.set("memory.optimizer_offload.where", "cpu", "fsdp_cpu_offload");
    s_.set("memory.parameter_offload", "cpu", "fsdp_cpu_offload");
    map_strategy();
  }

  /// The distributed recipes shard as FSDP does, whether or not they say how.
  void map_strategy() {
    if (s_.has("fsdp_sharding_strategy")) map_fsdp(s_, "fsdp_sharding_strategy", false);
    if (!s_.has("fsdp_reshard_after_forward")) return;
    const bool reshards = s_.flag("fsdp_reshard_after_forward").value_or(true);
    s_.set("parallel.mode", reshards ? "zero3" : "zero2", "fsdp_reshard_after_forward");
  }

  void optimizer() {
    const auto norm = s_.number("clip_grad_norm");
    if (norm)
      s_.set("optimizer.max_grad_norm", shortest(*norm), "clip_grad_norm");
    else
      s_.assume("optimizer.max_grad_norm", "0", "torchtune clips nothing by default");
    Settings o = s_.section("optimizer");
    if (o.empty()) return;
    const std::string builder = o.word("_component_");
    const auto found =
        std::ranges::find(torch_optimizers, std::string_view(builder), &TorchOptimizer::theirs);
    const std::string there = recipe::joined(optimizer_names(), " | ");
    if (found == std::end(torch_optimizers)) {
      o.leave("_component_", "trainx has no such optimizer: " + there);
      s_.draft().ask("optimizer.type", there);
    } else {
      o.set("optimizer.type", std::string(found->ours), "_component_");
      if (!found->remark.empty()) o.leave("_component_", std::string(found->remark));
      if (!o.has("weight_decay"))
        o.assume("optimizer.options.weight_decay", std::string(found->weight_decay),
                 "default of " + last_part(builder));
    }
    if (const auto lr = o.number("lr")) o.set("optimizer.lr", shortest(*lr), "lr");
    for (const char* option : {"weight_decay", "eps", "momentum"})
      if (const auto x = o.number(option))
        o.set(std::string("optimizer.options.") + option, shortest(*x), option);
    if (o.flag("nesterov").value_or(false)) o.set("optimizer.options.nesterov", "true", "nesterov");
    map_betas(o, "betas");
    leave_rest(o, torchtune_unmapped(), "torchtune");
  }

  /// Without a map of its own the learning rate is constant.
  void schedule() {
    Settings l = s_.section("lr_scheduler");
    if (l.empty())
      return s_.assume("schedule.type", "constant", "torchtune has no schedule by default");
    const std::string name = last_part(l.word("_component_"));
    const auto warmup = l.whole("num_warmup_steps");
    if (name == "get_cosine_schedule_with_warmup") {
      l.set("schedule.type", "cosine", "_component_");
      if (const auto cycles = l.number("num_cycles"); cycles && *cycles != 0.5)
        l.leave("num_cycles", "schedule.type: cosine is half a wave; cosine_restarts has cycles",
                true);
    } else {
      std::vector<std::string> names;
      for (const auto& [type, summary] : recipe::list_alternatives("schedules"))
        names.push_back(type);
      const std::string there = recipe::joined(names, " | ");
      l.leave("_component_", "trainx has no such schedule: " + there);
      s_.draft().ask("schedule.type", there);
    }
    if (warmup && *warmup > 0)
      l.set("schedule.warmup", to_string(of_steps(*warmup)), "num_warmup_steps");
    leave_rest(l, torchtune_unmapped(), "torchtune");
  }

  void intervals() {
    const std::int64_t log = s_.whole("log_every_n_steps").value_or(1);
    s_.set("metrics.every",
           to_string(interval(s_, "log_every_n_steps", static_cast<double>(log), length_)),
           "log_every_n_steps");
    Settings logger = s_.section("metric_logger");
    const std::string name = last_part(logger.word("_component_"));
    if (name == "tensorboardlogger")
      logger.set("metrics.tensorboard", "true", "_component_");
    else if (!name.empty() && name != "disklogger" && name != "stdoutlogger")
      logger.leave("_component_", std::string(reasons::own_logs));
    leave_rest(logger, torchtune_unmapped(), "torchtune");

    const auto save = s_.whole("save_every_n_steps");
    if (save)
      s_.set("checkpoint.every",
             to_string(interval(s_, "save_every_n_steps", static_cast<double>(*save), length_)),
             "save_every_n_steps");
    else
      s_.assume("checkpoint.every",
                length_.unit == Duration::Unit::steps ? to_string(length_) : "1 epoch",
                "torchtune saves after each epoch");
    Settings checkpointer = s_.section("checkpointer");
    const auto keep = checkpointer.whole("keep_last_n_checkpoints");
    if (keep && *keep > 0)
      checkpointer.set("checkpoint.keep_last", std::to_string(*keep), "keep_last_n_checkpoints");
    else
      s_.assume("checkpoint.keep_last", "1048576", "torchtune keeps all by default");
    leave_rest(checkpointer, torchtune_unmapped(), "torchtune");
    switched_on("checkpoint.asynchronous", "true", "enable_async_checkpointing");

    const auto eval = s_.whole("run_val_every_n_steps");
    if (!eval) return;
    s_.set("eval.every",
           to_string(interval(s_, "run_val_every_n_steps", static_cast<double>(*eval), length_)),
           "run_val_every_n_steps");
    s_.assume("eval.batches", "all", "torchtune evaluates the whole set");
  }

  void data() {
    if (const auto shuffle = s_.flag("shuffle"))
      s_.set("data.shuffle", *shuffle ? "true" : "false", "shuffle", "true");
    Settings tokenizer = s_.section("tokenizer");
    tokenizer.word("_component_");
    if (const auto length = tokenizer.whole("max_seq_len"))
      tokenizer.set("data.sequence_length", std::to_string(*length), "max_seq_len");
    leave_rest(tokenizer, torchtune_unmapped(), "torchtune");
    for (const auto& [key, flag] :
         {std::pair{"dataset", "--data"}, {"dataset_val", "--eval-data"}}) {
      const yaml::Node* node = s_.take(key);
      if (!node) continue;
      if (!node->is_map()) {
        s_.leave(key, "trainx reads files, no data sets of other tools: name one with " +
                          std::string(flag));
        continue;
      }
      Settings set = s_.section(key);
      if (set.has("_component_"))
        set.leave("_component_", "trainx reads files, no data sets of other tools: name one with " +
                                     std::string(flag));
      if (const auto length = set.whole("max_seq_len"))
        set.set("data.sequence_length", std::to_string(*length), "max_seq_len");
      leave_rest(set, torchtune_unmapped(), "torchtune");
    }
  }

  /// Cross entropy under any of its names is what trainx computes.
  void loss() {
    Settings loss = s_.section("loss");
    const std::string name = last_part(loss.word("_component_"));
    const bool is_same = name.empty() || name.starts_with("ce") ||
                         name.find("crossentropy") != std::string::npos;
    if (!is_same) loss.leave("_component_", std::string(reasons::no_reinforcement), true);
    leave_rest(loss, torchtune_unmapped(), "torchtune");
  }

  Settings& s_;
  Duration length_;
};

}  // namespace

void read_torchtune(Settings& settings) { TorchtuneReader(settings).read(); }

}  // namespace trainx::imports
