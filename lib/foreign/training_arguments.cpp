// Hugging Face's TrainingArguments as JSON: what it says, and what it does where it is silent (transformers 4.30 to 5.x).
#include "core/number.hpp"
#include "foreign/optimizers.hpp"
#include "foreign/readers.hpp"
#include "foreign/registry.hpp"
#include "foreign/run_length.hpp"
#include "foreign/schedules.hpp"
#include "foreign/unmapped.hpp"
#include "recipe/value.hpp"

namespace trainx::foreign {
namespace {

const std::string default_of = "default of TrainingArguments";

class Reader {
 public:
  Reader(Settings& settings, bool has_deepspeed_file) : s_(settings), has_deepspeed_file_(has_deepspeed_file) {}

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
    leave_rest(s_, training_arguments_unmapped(), "TrainingArguments");
  }

 private:
  /// `defaults` also name what holds where the key is missing: their first word.
  void number(const std::string& recipe_key, std::string_view key, const std::string& defaults) {
    if (const auto x = s_.number(key)) s_.set(recipe_key, shortest(*x), key, defaults);
    else if (!s_.has(key)) s_.assume(recipe_key, defaults.substr(0, defaults.find('|')), default_of);
  }
  void switched_on(const std::string& recipe_key, const std::string& yaml, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys)
      if (s_.flag(key).value_or(false)) s_.set(recipe_key, yaml, key);
  }

  void duration() {
    const double epochs = s_.number("num_train_epochs").value_or(3);
    const std::int64_t steps = s_.whole("max_steps").value_or(-1);
    if (steps > 0) length_ = of_steps(steps);
    else length_ = {epochs, Duration::Unit::epochs};
    if (steps > 0) s_.set("run.duration", to_string(length_), "max_steps");
    else if (s_.has("num_train_epochs")) s_.set("run.duration", to_string(length_), "num_train_epochs", "3");
    else s_.assume("run.duration", to_string(length_), default_of);
    if (!(length_.amount > 0)) s_.refuse(steps > 0 ? "max_steps" : "num_train_epochs", "must be greater than 0");
  }

  void run() {
    if (auto folder = s_.text("output_dir"); folder && !folder->empty()) {
      while (folder->size() > 1 && folder->ends_with('/')) folder->pop_back();
      const std::size_t slash = folder->rfind('/');
      const std::string name = slash == std::string::npos ? *folder : folder->substr(slash + 1);
      if (name.empty() || name.starts_with('.') || name.size() > 200) {
        s_.leave("output_dir", "a run's name is its folder's: run.output_dir and run.name say it");
      } else {
        s_.set("run.output_dir", recipe::write_value(slash == std::string::npos ? std::string(".") : slash == 0 ? std::string("/") : folder->substr(0, slash)), "output_dir");
        s_.set("run.name", recipe::write_value(name), "output_dir");
      }
    }
    if (const auto seed = s_.whole("seed")) s_.set("run.seed", std::to_string(*seed), "seed", "42");
    switched_on("run.deterministic", "true", {"full_determinism"});
    switched_on("run.device", "cpu", {"use_cpu", "no_cuda"});
  }

  void batch() {
    const std::string_view own = s_.has("per_gpu_train_batch_size") ? "per_gpu_train_batch_size" : "per_device_train_batch_size";
    number("rank_batch", own, "8");
    number("accumulation", "gradient_accumulation_steps", "1");
    switched_on("memory.activation_checkpoint", "full", {"gradient_checkpointing", "activation_checkpointing"});
  }

  void precision() {
    const bool bf16 = s_.flag("bf16").value_or(false), fp16 = s_.flag("fp16").value_or(false), tf32 = s_.flag("tf32").value_or(false);
    if (bf16 && fp16) s_.refuse("bf16", "cannot be true beside fp16");
    if (bf16) map_precision(s_, "bf16", "bf16", "");
    else if (fp16) map_precision(s_, "fp16", "fp16", "");
    else if (tf32) map_precision(s_, "tf32", "tf32", "");
    else s_.assume("precision.compute", "fp32", default_of);
  }

  void optimizer() {
    const std::string theirs = s_.flag("adafactor").value_or(false) ? "adafactor" : s_.text("optim").value_or("adamw_torch_fused");
    const OptimizerName* name = find_transformers_optimizer(theirs);
    const std::string_view key = theirs == "adafactor" && !s_.has("optim") ? "adafactor" : "optim";
    const bool is_mapped = map_optimizer(s_, key, name, "adamw_torch_fused|adamw_torch|adamw_hf");
    number("optimizer.lr", "learning_rate", "5e-5");
    number("optimizer.max_grad_norm", "max_grad_norm", "1");
    number("optimizer.options.weight_decay", "weight_decay", "0");
    for (const auto& [option, from, otherwise] : {std::tuple{"beta1", "adam_beta1", "0.9"}, {"beta2", "adam_beta2", "0.999"}, {"eps", "adam_epsilon", "1e-8"}}) {
      const bool is_eps = std::string_view(option) == "eps";
      if (name && (is_eps ? name->eps : name->betas)) number(std::string("optimizer.options.") + option, from, otherwise);
      else if (s_.number(from) && s_.number(from) != parse_decimal(otherwise)) s_.leave(from, "transformers gives it to Adam and its kin only");
    }
    if (is_mapped && theirs == "adafactor")
      for (const char* option : {"scale_parameter", "relative_step"})
        if (has_option("adafactor", option)) s_.assume(std::string("optimizer.options.") + option, "false", "as transformers' Trainer has it");
    optimizer_arguments(is_mapped ? std::string(name->ours) : "");
  }

  /// Reads optim_args: "momentum=0.9,nesterov=True".
  void optimizer_arguments(const std::string& type) {
    const std::string all = s_.text("optim_args").value_or("");
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t end = std::min(all.find(',', begin), all.size());
      std::string one = all.substr(begin, end - begin);
      begin = end + 1;
      std::erase(one, ' ');
      const std::size_t equals = std::min(one.find('='), one.size());
      const std::string option = one.substr(0, equals), value = equals < one.size() ? one.substr(equals + 1) : "";
      const bool is_flag = value == "True" || value == "False";
      if (const auto x = parse_decimal(value); has_option(type, option) && (x || is_flag)) s_.set("optimizer.options." + option, is_flag ? (value == "True" ? "true" : "false") : shortest(*x), "optim_args");
      else s_.leave("optim_args", yaml::excerpt(one) + " is no option of optimizer " + (type.empty() ? "here" : type));
    }
  }

  void schedule() {
    const double steps = s_.number("warmup_steps").value_or(0), ratio = s_.number("warmup_ratio").value_or(0);
    const bool by_steps = steps > 0;
    for (const auto& [key, x] : {std::pair{"warmup_steps", steps}, {"warmup_ratio", ratio}})
      if (x < 0 || x > 1e15) s_.refuse(key, "must not be negative, nor beyond any run");
    const Duration warmup = by_steps && steps >= 1 ? of_steps(static_cast<std::int64_t>(steps)) : part_of(length_, by_steps ? steps : ratio);
    map_transformers_schedule(s_, warmup, by_steps ? "warmup_steps" : "warmup_ratio", s_.number("learning_rate").value_or(5e-5));
  }

  /// "no", "steps" (then so many, or a share of the run), "epoch", "best"; under the name that it had before, too.
  std::string strategy(std::string_view key, std::string_view old_key, const std::string& otherwise) {
    const std::string word = s_.text(key).value_or(s_.text(old_key).value_or(otherwise));
    if (word != "no" && word != "steps" && word != "epoch" && word != "best") s_.refuse(key, "must be no, steps, epoch or best, not " + yaml::excerpt(word));
    return word;
  }
  Duration every(std::string_view key, double steps) {
    if (!(steps > 0) || steps > 1e15) s_.refuse(key, "must be greater than 0, and no longer than any run");
    return steps < 1 ? part_of(length_, steps) : of_steps(static_cast<std::int64_t>(steps));
  }

  void intervals() {
    const std::string logging = strategy("logging_strategy", "logging_strategy", "steps");
    const double logging_steps = s_.number("logging_steps").value_or(500);
    if (logging == "steps") s_.set("metrics.every", to_string(every("logging_steps", logging_steps)), "logging_steps", "500");
    else if (logging == "epoch") s_.set("metrics.every", "1 epoch", "logging_strategy");
    else s_.leave("logging_strategy", "trainx always logs: metrics.every says how often");

    const std::string saving = strategy("save_strategy", "save_strategy", "steps");
    const double save_steps = s_.number("save_steps").value_or(500);
    if (saving == "steps") {
      s_.set("checkpoint.every", to_string(every("save_steps", save_steps)), "save_steps", "500");
    } else {
      s_.set("checkpoint.every", saving == "epoch" ? "1 epoch" : to_string(length_), "save_strategy");
      if (saving == "no") s_.leave("save_strategy", "a run's last step is always saved");
      if (saving == "best") s_.draft().remark("checkpoint.every", "`best`, the checkpoint of the lowest held-out loss, is saved when it is found");
    }
    const std::int64_t keep = s_.whole("save_total_limit").value_or(0);
    if (keep > 0) s_.set("checkpoint.keep_last", std::to_string(keep), "save_total_limit");
    else s_.assume("checkpoint.keep_last", "1048576", "TrainingArguments keeps all without save_total_limit");
  }

  void evaluation() {
    const std::string_view key = s_.has("eval_strategy") ? "eval_strategy" : "evaluation_strategy";
    const bool throughout = s_.flag("evaluate_during_training").value_or(false);
    const std::string evaluating = strategy("eval_strategy", "evaluation_strategy", throughout ? "steps" : "no");
    const double steps = s_.number("eval_steps").value_or(s_.number("logging_steps").value_or(500));
    const bool bf16 = s_.flag("bf16_full_eval").value_or(false), fp16 = s_.flag("fp16_full_eval").value_or(false);
    if (bf16 && fp16) s_.refuse("bf16_full_eval", "cannot be true beside fp16_full_eval");
    if (evaluating == "no") {
      for (const char* full : {"bf16_full_eval", "fp16_full_eval"})
        if (s_.flag(full).value_or(false)) s_.leave(full, "the settings evaluate nothing");
      return;
    }
    if (bf16 && !s_.flag("bf16").value_or(false)) s_.set("eval.precision", "bf16", "bf16_full_eval");   // where training computes so, evaluations do as well
    if (fp16 && (s_.flag("bf16").value_or(false) || !s_.flag("fp16").value_or(false))) s_.set("eval.precision", "fp16", "fp16_full_eval");
    s_.set("eval.every", evaluating == "epoch" ? "1 epoch" : to_string(every("eval_steps", steps)), evaluating == "epoch" || !s_.has("eval_steps") ? key : "eval_steps");
    s_.assume("eval.batches", "1073741824", "the whole set, as transformers has it");
  }

  void data() {
    const std::int64_t workers = s_.whole("dataloader_num_workers").value_or(0);
    if (workers > 0) s_.set("data.workers", std::to_string(workers), "dataloader_num_workers");
    if (const auto factor = s_.whole("dataloader_prefetch_factor")) {
      std::int64_t ahead = 0;
      if (*factor < 1 || __builtin_mul_overflow(*factor, std::max<std::int64_t>(workers, 1), &ahead)) s_.refuse("dataloader_prefetch_factor", "must be a whole number from 1");
      s_.set("data.prefetch", std::to_string(ahead), "dataloader_prefetch_factor");
    }
    if (s_.flag("use_cpu").value_or(s_.flag("no_cuda").value_or(false))) s_.flag("dataloader_pin_memory");   // transformers turns it off there
    switched_on("data.group_by_length", "true", {"group_by_length"});
    const std::string sampling = s_.text("train_sampling_strategy").value_or("random");
    if (sampling == "group_by_length") s_.set("data.group_by_length", "true", "train_sampling_strategy");
    else if (sampling == "sequential") s_.set("data.shuffle", "false", "train_sampling_strategy");
    else if (sampling != "random") s_.leave("train_sampling_strategy", "data.shuffle and data.group_by_length say the order of samples");
    for (const std::string_view key : {"block_size", "max_seq_length", "max_length"})
      if (const auto length = s_.whole(key)) s_.set("data.sequence_length", std::to_string(*length), key);
  }

  /// `deepspeed` is a file's name or its contents.
  void sharding() {
    const yaml::Node* deepspeed = s_.take("deepspeed");
    if (deepspeed && deepspeed->is_map()) {
      Settings inner(*deepspeed, s_.draft());
      read_deepspeed(inner);
    } else if (deepspeed && !deepspeed->text.empty() && !has_deepspeed_file_) {
      s_.leave("deepspeed", "give that file too: trainx import takes several");
    }
  }

  Settings& s_;
  bool has_deepspeed_file_;
  Duration length_;
};

}  // namespace

void read_training_arguments(Settings& settings, bool has_deepspeed_file) { Reader(settings, has_deepspeed_file).read(); }

}  // namespace trainx::foreign
