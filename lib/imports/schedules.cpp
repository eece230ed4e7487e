#include "imports/schedules.hpp"
#include "core/number.hpp"
#include "imports/run_length.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include <cmath>

namespace trainx::imports {
namespace {

std::string schedule_names() {
  std::vector<std::string> names;
  for (const auto& [name, summary] : recipe::list_alternatives("schedules")) names.push_back(name);
  return recipe::joined(names, " | ");
}

void refuse_schedule(Settings& settings, std::string_view key, const std::string& why) {
  settings.leave(key, why + ": " + schedule_names());
  settings.draft().ask("schedule.type", schedule_names());
}

/// What transformers' schedules take in lr_scheduler_kwargs.
class Arguments {
 public:
  Arguments(Settings& arguments, std::optional<double> lr) : a_(arguments), lr_(lr) {}

  /// A learning rate, as a share of lr.
  void final_rate(std::string_view key, double otherwise) {
    const double end = a_.number(key).value_or(otherwise);
    if (end == 0) return;
    if (lr_ && *lr_ > 0)
      set("final_ratio", shortest(tidy(end / *lr_)), key);
    else
      a_.leave(key, "schedule.final_ratio is this divided by lr, which no file gives");
  }
  void final_share(std::string_view key) {
    if (const auto share = a_.number(key); share && *share != 0)
      set("final_ratio", shortest(*share), key);
  }
  void half_wave() {
    if (const auto cycles = a_.number("num_cycles"); cycles && *cycles != 0.5)
      a_.leave("num_cycles", "schedule.type: cosine is half a wave; cosine_restarts has cycles");
  }
  void cycles() { set("cycles", std::to_string(a_.whole("num_cycles").value_or(1)), "num_cycles"); }
  void power() {
    if (const auto power = a_.number("power")) set("power", shortest(*power), "power");
  }
  void timescale() {
    if (const auto steps = a_.whole("timescale"))
      set("timescale", to_string(of_steps(*steps)), "timescale");
  }
  void decay() {
    if (const auto steps = a_.whole("num_decay_steps"))
      set("decay", to_string(of_steps(*steps)), "num_decay_steps");
    if (a_.whole("num_stable_steps"))
      a_.leave("num_stable_steps", "the rest of the run, between warm-up and decay, is stable");
    const std::string shape = a_.text("decay_type").value_or("cosine");
    if (shape == "linear" || shape == "cosine" || shape == "1-sqrt")
      set("shape", shape, "decay_type");
    else
      a_.leave("decay_type", "schedule.shape is linear, cosine or 1-sqrt");
    if (a_.text("warmup_type").value_or("linear") != "linear")
      a_.leave("warmup_type", "the warm-up of trainx is a straight line from 0", true);
    final_share("min_lr_ratio");
  }
  void rest(std::string_view schedule) {
    std::vector<std::string> keys;
    a_.for_each_rest([&](const yaml::Entry& entry) { keys.push_back(entry.key); });
    for (const std::string& key : keys)
      a_.leave(key, "is no argument of " + std::string(schedule) + " that trainx knows");
  }

 private:
  void set(const std::string& option, std::string yaml, std::string_view key) {
    a_.set("schedule." + option, std::move(yaml), key);
  }
  Settings& a_;
  std::optional<double> lr_;
};

}  // namespace

void map_transformers_schedule(Settings& s, const Duration& warmup, std::string_view warmup_key,
                               std::optional<double> lr, std::string_view type_key,
                               const std::string& otherwise) {
  const std::string written = s.word(type_key), type = written.empty() ? otherwise : written;
  Settings kwargs = s.section("lr_scheduler_kwargs");
  Arguments arguments(kwargs, lr);
  const auto course = [&](const char* name) { s.set("schedule.type", name, type_key, otherwise); };
  bool warms_up = true;
  if (type == "linear") {
    course("linear");
  } else if (type == "cosine") {
    course("cosine");
    arguments.half_wave();
  } else if (type == "cosine_with_restarts") {
    course("cosine_restarts");
    arguments.cycles();
  } else if (type == "cosine_with_min_lr") {
    course("cosine");
    arguments.half_wave();
    if (kwargs.has("min_lr_rate"))
      arguments.final_share("min_lr_rate");
    else
      arguments.final_rate("min_lr", 0);
  } else if (type == "polynomial") {
    course("polynomial");
    arguments.power();
    arguments.final_rate("lr_end", 1e-7);
  } else if (type == "constant") {
    course("constant");
    warms_up = false;
  } else if (type == "constant_with_warmup") {
    course("constant");
  } else if (type == "inverse_sqrt") {
    course("inverse_sqrt");
    arguments.timescale();
  } else if (type == "warmup_stable_decay") {
    course("wsd");
    arguments.decay();
  } else {
    refuse_schedule(s, type_key, "trainx has no such schedule");
  }
  arguments.rest(type);
  if (warmup.amount <= 0) return;
  if (!warms_up) {
    s.leave(warmup_key, "transformers' constant has no warm-up; constant_with_warmup has");
    return;
  }
  s.set("schedule.warmup", to_string(warmup), warmup_key, "0");
  s.draft().remark("schedule.warmup",
                   "step s of w takes lr * s / w; transformers' takes lr * (s - 1) / w");
}

void map_deepspeed_schedule(Settings& s) {
  const std::string type = s.text("type").value_or("");
  Settings p = s.section("params");
  if (type != "WarmupLR" && type != "WarmupDecayLR" && type != "WarmupCosineLR") {
    refuse_schedule(s, "type", "trainx has no such schedule");
  } else {
    s.set("schedule.type",
          type == "WarmupLR"        ? "constant"
          : type == "WarmupDecayLR" ? "linear"
                                    : "cosine",
          "type");
    if (const auto steps = p.whole("warmup_num_steps"))
      p.set("schedule.warmup", to_string(of_steps(*steps)), "warmup_num_steps");
    else if (!p.has("warmup_num_steps"))
      p.assume("schedule.warmup", "1000 steps", "default of DeepSpeed's " + type);
    if (p.text("warmup_type").value_or("log") != "linear")
      p.leave("warmup_type",
              "the warm-up of trainx is a straight line from 0; DeepSpeed's default is log");
    if (const auto lr = p.number("warmup_max_lr"))
      p.set("optimizer.lr", shortest(*lr), "warmup_max_lr");
    for (const char* low : {"warmup_min_lr", "warmup_min_ratio"})
      if (p.number(low).value_or(0) != 0) p.leave(low, "the warm-up of trainx begins at 0");
    if (const auto steps = p.whole("total_num_steps")) {
      if (s.draft().has_training_arguments)
        p.leave("total_num_steps", "TrainingArguments give the length of the run");
      else
        p.set("run.duration", to_string(of_steps(*steps)), "total_num_steps");
    }
    if (type == "WarmupCosineLR") {
      if (const auto share = p.number("cos_min_ratio"))
        p.set("schedule.final_ratio", shortest(*share), "cos_min_ratio");
      else
        p.assume("schedule.final_ratio", "1e-4", "default of DeepSpeed's WarmupCosineLR");
    }
  }
  for (Settings* settings : {&p, &s}) {
    std::vector<std::string> keys;
    settings->for_each_rest([&](const yaml::Entry& entry) { keys.push_back(entry.key); });
    for (const std::string& key : keys)
      settings->leave(key, "is no argument of " +
                               (type.empty() ? "a scheduler" : yaml::excerpt(type)) +
                               " that trainx knows");
  }
}

}  // namespace trainx::imports
