// The course of the learning rate, and how often things happen.
#include "recipe/rule_set.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

class ScheduleRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    schedule();
    intervals();
  }

 private:
  void schedule() {
    const ScheduleSection& schedule = r_.schedule;
    const std::string type = alternative_name(schedule.course);
    const bool ends = std::visit([](const auto& o) { return o.has_final_ratio; }, schedule.course);
    refuse(!ends && schedule.final_ratio != 0, "schedule.final_ratio", {"schedule.type"},
           "can have no effect with type: " + type +
               ": remove it, or write type: " + types_with_final_ratio());
    refuse(
        !std::holds_alternative<options::ConstantSchedule>(schedule.course) &&
            r_.run.duration.unit == Duration::Unit::seconds,
        "run.duration", {"schedule.type"},
        "cannot be in time with schedule.type: " + type +
            ", which needs the number of steps: give steps, epochs or tokens, or type: constant");
    const bool flat = std::holds_alternative<options::ConstantSchedule>(schedule.course);
    refuse(flat && schedule.resume == ScheduleResume::restart, "schedule.resume", {"schedule.type"},
           "can have no effect with type: constant, whose learning rate hangs on no duration: "
           "remove it");
    part_of_the_run("schedule.warmup", schedule.warmup);
    if (const auto* wsd = std::get_if<options::WsdSchedule>(&schedule.course);
        wsd && !wsd->decay.is_auto()) {
      const Duration &decay = *wsd->decay.value, &warmup = schedule.warmup;
      refuse(decay.amount <= 0, "schedule.decay", {},
             "must be greater than 0: without a decay this is type: constant");
      part_of_the_run("schedule.decay", decay);
      refuse(decay.unit == warmup.unit && decay.unit == r_.run.duration.unit &&
                 std::max(decay.amount, warmup.amount) <= r_.run.duration.amount &&
                 decay.amount + warmup.amount > r_.run.duration.amount,
             "schedule.decay", {"run.duration", "schedule.warmup"},
             "(" + to_string(decay) + ") and schedule.warmup (" + to_string(warmup) +
                 ") together are longer than run.duration (" + to_string(r_.run.duration) + ")");
    }
    if (const auto* inverse = std::get_if<options::InverseSqrtSchedule>(&schedule.course);
        inverse && !inverse->timescale.is_auto()) {
      refuse(inverse->timescale.value->amount <= 0, "schedule.timescale", {},
             "must be greater than 0");
      refuse_time("schedule.timescale", *inverse->timescale.value);
      refuse_percent("schedule.timescale", *inverse->timescale.value);
    }
  }

  void refuse_time(const std::string& key, const Duration& duration) {
    refuse(duration.unit == Duration::Unit::seconds, key, {},
           "must be in steps, epochs or tokens, not in time: a learning rate that hangs on the "
           "clock cannot be repeated");
  }

  void part_of_the_run(const std::string& key, const Duration& part) {
    refuse_time(key, part);
    refuse(part.unit == Duration::Unit::percent && part.amount > 100, key, {},
           "is " + to_string(part) + " of run.duration; at most 100 % are there");
    refuse(part.unit == Duration::Unit::percent && r_.run.duration.unit == Duration::Unit::seconds,
           key, {"run.duration"},
           "is a percentage of run.duration, which is in time: give steps, epochs or tokens for "
           "one of them");
    refuse(part.unit == r_.run.duration.unit && part.amount > r_.run.duration.amount, key,
           {"run.duration"},
           "is " + to_string(part) + ", which is longer than run.duration (" +
               to_string(r_.run.duration) + ")");
  }

  static std::string types_with_final_ratio() {
    std::vector<std::string> names;
    for_each_alternative(options::ScheduleOptions{}, [&](const auto& o) {
      if (o.has_final_ratio) names.emplace_back(o.name);
    });
    const std::string last = names.back();
    names.pop_back();
    return joined(names, ", ") + " or " + last;
  }

  void intervals() {
    refuse_percent("run.duration", r_.run.duration);
    if (!r_.checkpoint.every.is_auto())
      refuse_percent("checkpoint.every", *r_.checkpoint.every.value);
    refuse_percent("eval.every", r_.eval.every);
    refuse_percent("metrics.every", r_.metrics.every);
    if (r_.memory.release_cache_every)
      refuse_percent("memory.release_cache_every", *r_.memory.release_cache_every);
    refuse(!r_.checkpoint.every.is_auto() && r_.checkpoint.every.value->amount <= 0,
           "checkpoint.every", {}, "must be greater than 0");
    refuse(r_.eval.every.amount <= 0, "eval.every", {}, "must be greater than 0");
    refuse(r_.metrics.every.amount <= 0, "metrics.every", {}, "must be greater than 0");
  }
};

}  // namespace

void check_schedule_rules(const RuleContext& context) { ScheduleRules(context).check(); }

}  // namespace trainx::recipe
