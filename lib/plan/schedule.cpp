#include "plan/schedule.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainx::plan {
namespace {

double half_cosine(double p) { return (1 + std::cos(std::numbers::pi * p)) / 2; }

/// Share of the way from `from` to `to` that step s has gone, at most 1.
double progress(std::int64_t s, std::int64_t from, std::int64_t to) {
  return to > from ? std::min(1.0, static_cast<double>(s - from) / static_cast<double>(to - from))
                   : 1.0;
}

/// What is left of lr - final_ratio * lr (of lr, where a schedule has no final_ratio) at step s >=
/// warm-up: 1 at first.
struct Left {
  std::int64_t s;
  const ScheduleSteps& steps;
  double lr;
  const ScheduleFunction& own;
  double p() const { return progress(s, steps.warmup, steps.total); }

  double operator()(const options::ConstantSchedule&) const { return 1; }
  double operator()(const options::LinearSchedule&) const { return 1 - p(); }
  double operator()(const options::PolynomialSchedule& o) const {
    return std::pow(1 - p(), o.power);
  }
  double operator()(const options::CosineSchedule&) const { return half_cosine(p()); }
  double operator()(const options::CosineRestartsSchedule& o) const {
    const double cycle = p() * static_cast<double>(o.cycles);
    return p() < 1 ? half_cosine(cycle - std::floor(cycle)) : 0;
  }
  double operator()(const options::WsdSchedule& o) const {
    const std::int64_t begin = steps.total - steps.decay;
    if (s < begin) return 1;
    const double q = progress(s, begin, steps.total);
    switch (o.shape) {
      case options::DecayShape::linear: return 1 - q;
      case options::DecayShape::cosine: return half_cosine(q);
      case options::DecayShape::one_minus_sqrt: break;
    }
    return 1 - std::sqrt(q);
  }
  double operator()(const options::InverseSqrtSchedule&) const {
    return std::sqrt(static_cast<double>(steps.timescale) /
                     static_cast<double>(s - steps.warmup + steps.timescale));
  }
  double operator()(const options::RangeTestSchedule& o) const {
    return std::pow(o.initial_ratio, 1 - progress(s, steps.warmup, steps.total - 1));
  }
  double operator()(const options::OwnSchedule&) const {
    return own({s, steps.total, steps.warmup, lr});
  }
};

/// The learning rate by step, of a schedule whose own function is made once.
class Course {
 public:
  Course(const recipe::ScheduleSection& schedule, double lr, const ScheduleSteps& steps)
      : schedule_(schedule), lr_(lr), steps_(steps) {
    if (const auto* own = std::get_if<options::OwnSchedule>(&schedule.course))
      own_ = options::checked_function(*own);
  }

  double operator()(std::int64_t s) const {
    if (s < steps_.warmup)
      return lr_ * static_cast<double>(s + 1) / static_cast<double>(steps_.warmup);
    const double f = schedule_.final_ratio;
    return lr_ * (f + (1 - f) * std::visit(Left{s, steps_, lr_, own_}, schedule_.course));
  }

 private:
  const recipe::ScheduleSection& schedule_;
  double lr_;
  const ScheduleSteps& steps_;
  ScheduleFunction own_;
};

std::string in_steps(std::int64_t n) { return std::to_string(n) + " steps"; }

}  // namespace

ScheduleSteps plan_schedule(
    recipe::ScheduleSection& schedule, std::int64_t total,
    const std::function<std::int64_t(const Duration&, const char* key)>& steps_of) {
  // a part of a run in time was refused with the recipe
  const auto counted = [&](const Duration& d, const char* key) {
    return d.unit == Duration::Unit::percent
               ? static_cast<std::int64_t>(std::ceil(
                     d.amount / 100 * static_cast<double>(std::max<std::int64_t>(total, 0))))
               : steps_of(d, key);
  };
  ScheduleSteps steps{counted(schedule.warmup, "schedule.warmup"), total};
  const auto refuse = [](const std::string& sentence) {
    throw UserError(ExitCode::invalid_recipe, sentence);
  };
  const std::string run = "run.duration (" + in_steps(total) + ")";
  if (total >= 0 && steps.warmup > total)
    refuse("schedule.warmup is " + in_steps(steps.warmup) + ", which is longer than " + run);
  if (auto* wsd = std::get_if<options::WsdSchedule>(&schedule.course)) {
    if (wsd->decay.is_auto())
      wsd->decay.value = Duration{static_cast<double>(
          std::clamp<std::int64_t>(std::llround(static_cast<double>(total) / 10), 1,
                                   std::max<std::int64_t>(total - steps.warmup, 1)))};
    steps.decay = counted(*wsd->decay.value, "schedule.decay");
    if (steps.warmup + steps.decay > total)
      refuse("schedule.warmup (" + in_steps(steps.warmup) + ") and schedule.decay (" +
             in_steps(steps.decay) + ") together are longer than " + run);
  }
  if (auto* inverse = std::get_if<options::InverseSqrtSchedule>(&schedule.course)) {
    if (inverse->timescale.is_auto())
      inverse->timescale.value =
          Duration{static_cast<double>(steps.warmup > 0 ? steps.warmup : 10000)};
    steps.timescale = steps_of(*inverse->timescale.value, "schedule.timescale");
    if (steps.timescale < 1) refuse("schedule.timescale is less than a step");
  }
  return steps;
}

double learning_rate(const recipe::ScheduleSection& schedule, double lr, std::int64_t s,
                     const ScheduleSteps& steps) {
  return Course(schedule, lr, steps)(s);
}

std::vector<double> learning_rate_table(const recipe::ScheduleSection& schedule, double lr,
                                        const ScheduleSteps& steps) {
  const bool flat = std::holds_alternative<options::ConstantSchedule>(schedule.course) ||
                    steps.total < 0;
  std::vector<double> table(
      static_cast<std::size_t>(std::max<std::int64_t>(flat ? steps.warmup + 1 : steps.total, 1)));
  const Course rate(schedule, lr, steps);
  for (std::size_t s = 0; s < table.size(); ++s) table[s] = rate(static_cast<std::int64_t>(s));
  return table;
}

}  // namespace trainx::plan
