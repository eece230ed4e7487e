#include "imports/trainer.hpp"
#include "core/number.hpp"
#include "imports/readers.hpp"
#include "imports/reasons.hpp"
#include "imports/registry.hpp"
#include "imports/run_length.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::imports {
namespace {

void map_argument(Settings& s, const std::string& type, const std::string& option,
                  const std::string& value) {
  const bool is_flag = value == "True" || value == "False" || value == "true" || value == "false";
  const auto x = parse_decimal(value);
  const std::string yaml = !is_flag                 ? (x ? shortest(*x) : "")
                           : value.ends_with("rue") ? "true"
                                                    : "false";
  if (has_option(type, option) && !yaml.empty())
    return s.set("optimizer.options." + option, yaml, "optim_args");
  s.leave("optim_args", yaml::excerpt(option + "=" + value) + " is no option of optimizer " +
                            (type.empty() ? "here" : type));
}

}  // namespace

void map_output_dir(Settings& s) {
  auto folder = s.text("output_dir");
  if (!folder || folder->empty()) return;
  while (folder->size() > 1 && folder->ends_with('/')) folder->pop_back();
  const std::size_t slash = folder->rfind('/');
  const bool has_parent = slash != std::string::npos;
  const std::string name = has_parent ? folder->substr(slash + 1) : *folder;
  if (name.empty() || name.starts_with('.') || name.size() > 200)
    return s.leave("output_dir", "is no name of a run: set run.output_dir and run.name");
  const std::string parent = !has_parent ? "." : slash == 0 ? "/" : folder->substr(0, slash);
  s.set("run.output_dir", recipe::write_value(parent), "output_dir");
  s.set("run.name", recipe::write_value(name), "output_dir");
}

void map_optimizer_arguments(Settings& s, const std::string& type) {
  const yaml::Node* node = s.take("optim_args");
  if (!node) return;
  if (node->is_map()) {
    for (const yaml::Entry& entry : node->entries)
      map_argument(s, type, entry.key, plain_text(entry.value));
    return;
  }
  const std::string all = s.text("optim_args").value_or("");
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    std::string one = all.substr(begin, end - begin);
    begin = end + 1;
    std::erase(one, ' ');
    const std::size_t equals = std::min(one.find('='), one.size());
    map_argument(s, type, one.substr(0, equals), equals < one.size() ? one.substr(equals + 1) : "");
  }
}

void map_embeddings(Settings& s, std::string_view key, std::string_view theirs) {
  const bool is_bitsandbytes = theirs == "adamw_bnb_8bit" || theirs == "adamw_8bit" ||
                               theirs == "paged_adamw_8bit";
  if (!is_bitsandbytes || !has_option("adamw_8bit", "embeddings_32bit")) return;
  s.set("optimizer.options.embeddings_32bit", "true", key);
  s.draft().remark("optimizer.options.embeddings_32bit", "the Trainer keeps embeddings in 32 bits");
}

void map_trackers(Settings& s, std::string_view key) {
  std::string others;
  for (const std::string& name : s.words(key)) {
    if (name == "tensorboard")
      s.set("metrics.tensorboard", "true", key);
    else if (name != "none" && name != "all" && !name.empty())
      others += (others.empty() ? "" : ", ") + name;
  }
  if (!others.empty()) s.leave(key, others + ": " + std::string(reasons::own_logs));
}

void map_best_metric(Settings& s) {
  const std::string written = s.word("metric_for_best_model");
  const std::string metric = written.starts_with("eval_") ? written.substr(5) : written;
  const bool is_usual = metric.empty() || metric == "loss";
  const bool greater = s.flag("greater_is_better").value_or(false);
  if (!is_usual && takes_word("eval.best.metric", metric)) {
    s.set("eval.best.metric", metric, "metric_for_best_model");
  } else if (!is_usual) {
    s.leave("metric_for_best_model", "`best` is the checkpoint with the lowest held-out loss");
    return;
  }
  const bool is_higher = metric == "accuracy" || metric == "f1";
  if (!s.has("greater_is_better") || greater == is_higher) return;
  if (has_key("eval.best.goal"))
    s.set("eval.best.goal", greater ? "higher" : "lower", "greater_is_better");
  else
    s.leave("greater_is_better", "`best` is the checkpoint with the lowest held-out loss");
}

void map_timeout(Settings& s) {
  constexpr double transformers_default = 1800;
  const double seconds = s.number("ddp_timeout").value_or(transformers_default);
  if (seconds == transformers_default) return;
  if (seconds < 1 || seconds > 1e9) return s.leave("ddp_timeout", "run.hang_limit is at least 1 s");
  s.set("run.hang_limit", to_string(Duration{seconds, Duration::Unit::seconds}), "ddp_timeout");
}

void map_deepspeed(Settings& s, bool has_deepspeed_file) {
  const yaml::Node* deepspeed = s.take("deepspeed");
  if (!deepspeed) return;
  if (deepspeed->is_map()) {
    Settings inner(*deepspeed, s.draft());
    return read_deepspeed(inner);
  }
  const bool names_file = !plain_text(*deepspeed).empty();
  if (names_file && !has_deepspeed_file)
    s.leave("deepspeed", "give that file too: `trainx import` takes several");
}

void leave_tf32(Settings& s, const std::string& compute) {
  s.leave("tf32", "trainx computes in one type: precision.compute: " + compute +
                      "; what stays in fp32 does not round to tf32");
}

void map_workers(Settings& s) {
  const std::int64_t workers = s.whole("dataloader_num_workers").value_or(0);
  if (workers > 0) s.set("data.workers", std::to_string(workers), "dataloader_num_workers");
  const auto factor = s.whole("dataloader_prefetch_factor");
  if (!factor) return;
  std::int64_t ahead = 0;
  const bool overflows =
      __builtin_mul_overflow(*factor, std::max<std::int64_t>(workers, 1), &ahead);
  if (*factor < 1 || overflows)
    s.refuse("dataloader_prefetch_factor", "must be a whole number from 1");
  s.set("data.prefetch", std::to_string(ahead), "dataloader_prefetch_factor");
}

std::string strategy(Settings& s, std::string_view key, std::string_view old_key,
                     const std::string& otherwise) {
  const std::string word = s.text(key).value_or(s.text(old_key).value_or(otherwise));
  if (word != "no" && word != "steps" && word != "epoch" && word != "best")
    s.refuse(s.has(key) ? key : old_key,
             "must be no, steps, epoch or best, not " + yaml::excerpt(word));
  return word;
}

Duration interval(Settings& s, std::string_view key, double steps, const Duration& length) {
  if (!(steps > 0) || steps > 1e15) s.refuse(key, "must be greater than 0 and at most 1e15");
  return steps < 1 ? part_of(length, steps) : of_steps(static_cast<std::int64_t>(steps));
}

}  // namespace trainx::imports
