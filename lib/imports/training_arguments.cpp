// Hugging Face's TrainingArguments as JSON: what it says, and what it does where it is silent
// (transformers 4.30 to 5.x); TRL's SFTConfig and LLaMA-Factory's files, which extend it.
#include "core/number.hpp"
#include "imports/argument_dialect.hpp"
#include "imports/model_family.hpp"
#include "imports/optimizers.hpp"
#include "imports/readers.hpp"
#include "imports/registry.hpp"
#include "imports/run_length.hpp"
#include "imports/schedules.hpp"
#include "imports/trainer.hpp"
#include "imports/unmapped.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <array>
#include <tuple>

namespace trainx::imports {
namespace {

class ArgumentsReader {
 public:
  ArgumentsReader(Settings& settings, ArgumentsOf whose, bool has_deepspeed_file)
      : s_(settings), dialect_(dialect_of(whose)), has_deepspeed_file_(has_deepspeed_file) {}

  void read() {
    duration();
    run();
    batch();
    precision();
    optimizer();
    schedule();
    intervals();
    evaluation();
    data();
    sharding();
    loss();
    task();
    dialect_.read_own(s_);
    leave_rest(s_, dialect_.unmapped, dialect_.name);
  }

 private:
  /// `defaults` also name what holds where the key is missing: their first word.
  void number(const std::string& recipe_key, std::string_view key, const std::string& defaults) {
    if (const auto x = s_.number(key))
      s_.set(recipe_key, shortest(*x), key, defaults);
    else if (!s_.has(key))
      s_.assume(recipe_key, defaults.substr(0, defaults.find('|')), dialect_.default_of);
  }
  void switched_on(const std::string& recipe_key, const std::string& yaml,
                   std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys)
      if (s_.flag(key).value_or(false)) s_.set(recipe_key, yaml, key);
  }

  void duration() {
    const double epochs = s_.number("num_train_epochs").value_or(3);
    const std::int64_t steps = s_.whole("max_steps").value_or(-1);
    if (steps > 0)
      length_ = of_steps(steps);
    else
      length_ = {epochs, Duration::Unit::epochs};
    if (steps > 0)
      s_.set("run.duration", to_string(length_), "max_steps");
    else if (s_.has("num_train_epochs"))
      s_.set("run.duration", to_string(length_), "num_train_epochs", "3");
    else
      s_.assume("run.duration", to_string(length_), dialect_.default_of);
    if (!(length_.amount > 0))
      s_.refuse(steps > 0 ? "max_steps" : "num_train_epochs", "must be greater than 0");
  }

  void run() {
    map_output_dir(s_);
    if (const auto seed = s_.whole("seed")) s_.set("run.seed", std::to_string(*seed), "seed", "42");
    switched_on("run.deterministic", "true", {"full_determinism"});
    switched_on("run.device", "cpu", {"use_cpu", "no_cuda"});
    map_trackers(s_, "report_to");
    if (s_.flag("overwrite_output_dir").value_or(false))
      s_.leave("overwrite_output_dir",
               "trainx resumes the run in that folder; `trainx train --overwrite` begins anew");
  }

  void batch() {
    const std::string_view own = s_.has("per_gpu_train_batch_size") ? "per_gpu_train_batch_size"
                                                                    : "per_device_train_batch_size";
    number("rank_batch", own, "8");
    number("accumulation", "gradient_accumulation_steps", "1");
    recomputation();
    switched_on("memory.fit", "true", {"auto_find_batch_size"});
    const std::int64_t cache_steps = s_.whole("torch_empty_cache_steps").value_or(0);
    if (cache_steps > 0 && on_cpu())
      s_.set("memory.release_cache_every", to_string(of_steps(cache_steps)),
             "torch_empty_cache_steps");
    else if (cache_steps > 0)
      s_.leave("torch_empty_cache_steps",
               "on a GPU trainx allocates memory once; memory.release_cache_every is for "
               "run.device: cpu");
  }

  void recomputation() {
    std::optional<bool> said;
    for (const char* key : {"gradient_checkpointing", "activation_checkpointing"})
      if (const auto flag = s_.flag(key)) said = said.value_or(false) || *flag;
    if (const auto off = dialect_.recomputes ? s_.flag(dialect_.recomputes_not) : std::nullopt)
      said = !*off;
    switched_on("memory.activation_checkpoint", "full",
                {"gradient_checkpointing", "activation_checkpointing"});
    if (said.value_or(dialect_.recomputes))
      s_.assume("memory.activation_checkpoint", "full", dialect_.default_of);
  }

  void precision() {
    const bool fp16 = s_.flag("fp16").value_or(false);
    const bool bf16 = s_.flag("bf16").value_or(dialect_.bf16 && !fp16);
    const bool no_tf32 = s_.flag("no_tf32").value_or(false), tf32 = s_.flag("tf32").value_or(false);
    if (no_tf32 && tf32) s_.refuse("tf32", "cannot be true beside no_tf32");
    if (bf16 && fp16) s_.refuse("bf16", "cannot be true beside fp16");
    if (bf16 && !s_.has("bf16"))
      s_.assume("precision.compute", "bf16", dialect_.default_of);
    else if (bf16)
      map_precision(s_, "bf16", "bf16", "");
    else if (fp16)
      map_precision(s_, "fp16", "fp16", "");
    else if (tf32)
      map_precision(s_, "tf32", "tf32", "");
    else
      s_.assume("precision.compute", "fp32", dialect_.default_of);
    if (tf32 && (bf16 || fp16)) leave_tf32(s_, bf16 ? "bf16" : "fp16");
  }

  void optimizer() {
    const std::string theirs = s_.flag("adafactor").value_or(false)
                                   ? "adafactor"
                                   : s_.text("optim").value_or("adamw_torch_fused");
    const OptimizerName* name = find_transformers_optimizer(theirs);
    const std::string_view key = theirs == "adafactor" && !s_.has("optim") ? "adafactor" : "optim";
    const bool is_mapped = map_optimizer(s_, key, name, "adamw_torch_fused|adamw_torch|adamw_hf");
    number("optimizer.lr", "learning_rate", dialect_.learning_rate);
    number("optimizer.max_grad_norm", "max_grad_norm", "1");
    number("optimizer.options.weight_decay", "weight_decay", "0");
    for (const auto& [option, from, otherwise] : {std::tuple{"beta1", "adam_beta1", "0.9"},
                                                  {"beta2", "adam_beta2", "0.999"},
                                                  {"eps", "adam_epsilon", "1e-8"}}) {
      const bool is_eps = std::string_view(option) == "eps";
      if (name && (is_eps ? name->eps : name->betas))
        number(std::string("optimizer.options.") + option, from, otherwise);
      else if (s_.number(from) && s_.number(from) != parse_decimal(otherwise))
        s_.leave(from, "transformers gives it to Adam and its variants only");
    }
    if (is_mapped && theirs == "adafactor")
      for (const char* option : {"scale_parameter", "relative_step"})
        if (has_option("adafactor", option))
          s_.assume(std::string("optimizer.options.") + option, "false",
                    "as transformers' Trainer has it");
    if (is_mapped) map_embeddings(s_, key, theirs);
    map_optimizer_arguments(s_, is_mapped ? std::string(name->ours) : "");
  }

  void schedule() {
    const double steps = s_.number("warmup_steps").value_or(0),
                 ratio = s_.number("warmup_ratio").value_or(0);
    const bool by_steps = steps > 0;
    for (const auto& [key, x] : {std::pair{"warmup_steps", steps}, {"warmup_ratio", ratio}})
      if (x < 0 || x > 1e15) s_.refuse(key, "must not be negative, nor beyond any run");
    const Duration warmup = by_steps && steps >= 1 ? of_steps(static_cast<std::int64_t>(steps))
                                                   : part_of(length_, by_steps ? steps : ratio);
    map_transformers_schedule(
        s_, warmup, by_steps ? "warmup_steps" : "warmup_ratio",
        s_.number("learning_rate").value_or(*parse_decimal(dialect_.learning_rate)));
  }

  Duration every(std::string_view key, double steps) { return interval(s_, key, steps, length_); }

  void intervals() {
    const std::string logging = strategy(s_, "logging_strategy", "logging_strategy", "steps");
    const double logging_steps =
        s_.number("logging_steps").value_or(*parse_decimal(dialect_.logging_steps));
    if (logging == "steps")
      s_.set("metrics.every", to_string(every("logging_steps", logging_steps)), "logging_steps",
             dialect_.logging_steps);
    else if (logging == "epoch")
      s_.set("metrics.every", "1 epoch", "logging_strategy");
    else
      s_.leave("logging_strategy", "trainx always logs; metrics.every is the interval");

    const std::string saving = strategy(s_, "save_strategy", "save_strategy", "steps");
    const double save_steps = s_.number("save_steps").value_or(500);
    if (saving == "steps") {
      s_.set("checkpoint.every", to_string(every("save_steps", save_steps)), "save_steps", "500");
    } else {
      s_.set("checkpoint.every", saving == "epoch" ? "1 epoch" : to_string(length_),
             "save_strategy");
      if (saving == "no") s_.leave("save_strategy", "trainx always saves the last step");
      if (saving == "best")
        s_.draft().remark("checkpoint.every",
                          "trainx also saves `best`, the lowest held-out loss, when it finds it");
    }
    const std::int64_t keep = s_.whole("save_total_limit").value_or(0);
    if (keep > 0)
      s_.set("checkpoint.keep_last", std::to_string(keep), "save_total_limit");
    else
      s_.assume("checkpoint.keep_last", "1048576", "TrainingArguments keeps all by default");
  }

  void evaluation() {
    const std::string_view key = s_.has("eval_strategy") ? "eval_strategy" : "evaluation_strategy";
    const bool throughout = s_.flag("evaluate_during_training").value_or(false);
    const std::string evaluating =
        strategy(s_, "eval_strategy", "evaluation_strategy", throughout ? "steps" : "no");
    const double steps =
        s_.number("eval_steps")
            .value_or(s_.number("logging_steps").value_or(*parse_decimal(dialect_.logging_steps)));
    const bool bf16 = s_.flag("bf16_full_eval").value_or(false),
               fp16 = s_.flag("fp16_full_eval").value_or(false);
    if (bf16 && fp16) s_.refuse("bf16_full_eval", "cannot be true beside fp16_full_eval");
    map_best_metric(s_);
    const bool do_eval = s_.flag("do_eval").value_or(false), at_end = evaluating == "no" && do_eval;
    if (evaluating == "no" && !at_end) {
      for (const char* full : {"bf16_full_eval", "fp16_full_eval"})
        if (s_.flag(full).value_or(false))
          s_.leave(full, "nothing is evaluated: eval_strategy is no");
      return;
    }
    if (bf16 && !s_.flag("bf16").value_or(false))
      s_.set("eval.precision", "bf16",
             "bf16_full_eval");  // where training computes so, evaluations do as well
    if (fp16 && (s_.flag("bf16").value_or(false) || !s_.flag("fp16").value_or(false)))
      s_.set("eval.precision", "fp16", "fp16_full_eval");
    if (at_end)
      s_.set("eval.every", to_string(length_), "do_eval");
    else
      s_.set("eval.every",
             evaluating == "epoch" ? "1 epoch" : to_string(every("eval_steps", steps)),
             evaluating == "epoch" || !s_.has("eval_steps") ? key : "eval_steps");
    s_.assume("eval.batches", "all", "transformers evaluates the whole set");
  }

  void data() {
    map_workers(s_);
    if (on_cpu()) s_.flag("dataloader_pin_memory");  // transformers turns it off there
    switched_on("data.group_by_length", "true", {"group_by_length"});
    const std::string sampling = s_.text("train_sampling_strategy").value_or("random");
    if (sampling == "group_by_length")
      s_.set("data.group_by_length", "true", "train_sampling_strategy");
    else if (sampling == "sequential")
      s_.set("data.shuffle", "false", "train_sampling_strategy");
    else if (sampling != "random")
      s_.leave("train_sampling_strategy",
               "data.shuffle and data.group_by_length decide the order of samples");
    for (const std::string_view key : dialect_.length_keys)
      if (const auto length = s_.whole(key))
        s_.set("data.sequence_length", std::to_string(*length), key);
      else if (!dialect_.length.empty() && !s_.is_written(key))
        s_.assume("data.sequence_length", dialect_.length, dialect_.default_of);
  }

  void sharding() {
    map_deepspeed(s_, has_deepspeed_file_);
    map_fsdp(s_, "fsdp", false);
    map_timeout(s_);
  }

  void loss() {
    if (const double smoothing = s_.number("label_smoothing_factor").value_or(0); smoothing != 0)
      s_.set("model.options.label_smoothing", shortest(smoothing), "label_smoothing_factor", "0");
  }

  /// Of the examples: the model, and GLUE's tasks by the name that run_glue takes.
  void task() {
    if (const auto model = s_.text("model_name_or_path"))
      leave_model(s_, "model_name_or_path", *model);
    const std::string name = s_.word("task_name");
    if (name.empty()) return;
    static constexpr std::array<std::string_view, 7> of_two{"cola", "sst2", "mrpc", "qqp",
                                                            "qnli", "rte",  "wnli"};
    if (name == "stsb")
      return s_.leave("task_name", "is a regression, which trainx does not train", true);
    const bool is_mnli = name == "mnli";
    if (!is_mnli && std::ranges::count(of_two, name) == 0)
      return s_.leave("task_name", "is no task that trainx knows: model.options.task names one");
    s_.set("model.options.task", "classification", "task_name");
    s_.set("model.options.num_labels", is_mnli ? "3" : "2", "task_name");
  }

  bool on_cpu() { return s_.flag("use_cpu").value_or(s_.flag("no_cuda").value_or(false)); }

  Settings& s_;
  const ArgumentDialect& dialect_;
  bool has_deepspeed_file_;
  Duration length_;
};

}  // namespace

void read_training_arguments(Settings& settings, ArgumentsOf whose, bool has_deepspeed_file) {
  ArgumentsReader(settings, whose, has_deepspeed_file).read();
}

}  // namespace trainx::imports
