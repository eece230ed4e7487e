#include "plan/schedule.hpp"
#include "core/error.hpp"
#include <cmath>
#include <functional>
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace schedule_test {

using namespace trainx;
using plan::ScheduleSteps;
using recipe::ScheduleSection;

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double lr = 6e-4;

struct Case {
  const char* name;
  ScheduleSection schedule;
  ScheduleSteps steps;
  // of the 0-based step: the learning rate over lr, as the papers write it
  std::function<double(double)> after_warmup;
};

std::vector<Case> cases() {
  const Duration none;
  return {
      {"constant", {none, 0, options::ConstantSchedule{}}, {4, 100}, [](double) { return 1; }},
      {"linear",
       {none, 0.1, options::LinearSchedule{}},
       {4, 100},
       [](double s) { return 1 + (0.1 - 1) * (s - 4) / 96; }},
      {"cosine",
       {none, 0.1, options::CosineSchedule{}},
       {4, 100},
       [](double s) { return 0.1 + 0.9 * (1 + std::cos(pi * (s - 4) / 96)) / 2; }},
      {"cosine without warm-up",
       {none, 0, options::CosineSchedule{}},
       {0, 100},
       [](double s) { return (1 + std::cos(pi * s / 100)) / 2; }},
      {"restarts",
       {none, 0.2, options::CosineRestartsSchedule{3}},
       {4, 100},
       [](double s) { return 0.2 + 0.8 * (1 + std::cos(pi * std::fmod(s - 4, 32) / 32)) / 2; }},
      {"a single cycle is cosine",
       {none, 0.1, options::CosineRestartsSchedule{1}},
       {4, 100},
       [](double s) { return 0.1 + 0.9 * (1 + std::cos(pi * (s - 4) / 96)) / 2; }},
      {"wsd, linear",
       {none, 0.1, options::WsdSchedule{{}, options::DecayShape::linear}},
       {4, 100, 20},
       [](double s) { return s < 80 ? 1 : 0.1 + 0.9 * (1 - (s - 80) / 20); }},
      {"wsd, cosine",
       {none, 0, options::WsdSchedule{{}, options::DecayShape::cosine}},
       {4, 100, 20},
       [](double s) { return s < 80 ? 1 : (1 + std::cos(pi * (s - 80) / 20)) / 2; }},
      {"wsd, 1-sqrt",
       {none, 0.1, options::WsdSchedule{{}, options::DecayShape::one_minus_sqrt}},
       {4, 100, 20},
       [](double s) { return s < 80 ? 1 : 0.1 + 0.9 * (1 - std::sqrt((s - 80) / 20)); }},
      {"wsd without a stable part",
       {none, 0, options::WsdSchedule{{}, options::DecayShape::linear}},
       {4, 100, 96},
       [](double s) { return 1 - (s - 4) / 96; }},
      {"inverse square root",
       {none, 0, options::InverseSqrtSchedule{}},
       {4, 100, 0, 4},
       [](double s) { return std::sqrt(4 / s); }},
      {"inverse square root of another timescale",
       {none, 0, options::InverseSqrtSchedule{}},
       {4, 100, 0, 30},
       [](double s) { return std::sqrt(30 / (s - 4 + 30)); }},
      {"polynomial",
       {none, 0.1, options::PolynomialSchedule{2.5}},
       {4, 100},
       [](double s) { return 0.1 + 0.9 * std::pow(1 - (s - 4) / 96, 2.5); }},
      {"range test",
       {.course = options::RangeTestSchedule{1e-4}},
       {0, 100},
       [](double s) { return std::pow(10, -4 + 4 * s / 99); }},
  };
}

ScheduleSteps planned(ScheduleSection& schedule, std::int64_t total) {
  return plan::plan_schedule(schedule, total, [](const Duration& d, const char*) {
    return static_cast<std::int64_t>(d.unit == Duration::Unit::tokens ? std::ceil(d.amount / 1000)
                                                                      : d.amount);
  });
}

std::string refusal(ScheduleSection schedule, std::int64_t total) {
  try {
    planned(schedule, total);
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::invalid_recipe);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("learning rates follow their formulas at every step") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const auto table = plan::learning_rate_table(c.schedule, lr, c.steps);
    const auto w = static_cast<std::size_t>(c.steps.warmup);
    REQUIRE(table.size() ==
            (std::holds_alternative<options::ConstantSchedule>(c.schedule.course) ? w + 1 : 100));
    for (std::size_t s = 0; s < 100; ++s) {
      const double want = lr * (s < w ? static_cast<double>(s + 1) / static_cast<double>(w)
                                      : c.after_warmup(static_cast<double>(s)));
      const double got = plan::learning_rate(c.schedule, lr, static_cast<std::int64_t>(s), c.steps);
      INFO("step " << s);
      REQUIRE(std::abs(got - want) <= 1e-12 * lr);
      REQUIRE((s >= table.size() || table[s] == got));
    }
  }
}

TEST_CASE("beyond the end a schedule stays where it ended") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const bool ends =
        std::visit([](const auto& o) { return o.has_final_ratio; }, c.schedule.course);
    if (ends)
      CHECK(std::abs(plan::learning_rate(c.schedule, lr, 1000, c.steps) -
                     lr * c.schedule.final_ratio) <= 1e-12 * lr);
  }
  CHECK(plan::learning_rate_table(ScheduleSection{}, lr, {3, -1}) ==
        std::vector<double>{lr / 3, lr * 2 / 3, lr, lr});
  CHECK(plan::learning_rate_table({{}, 0.1, options::CosineSchedule{}}, lr, {0, 1}) ==
        std::vector<double>{lr});
  // nothing but warm-up
  CHECK(plan::learning_rate_table({{}, 0, options::LinearSchedule{}}, lr, {2, 2}) ==
        std::vector<double>{lr / 2, lr});
}

TEST_CASE("durations of a schedule are counted in steps, and auto is written down") {
  ScheduleSection wsd{{3500, Duration::Unit::tokens}, 0, options::WsdSchedule{}};
  auto steps = planned(wsd, 250);
  CHECK(steps.warmup == 4);
  CHECK(steps.decay == 25);
  CHECK(std::get<options::WsdSchedule>(wsd.course).decay.value == Duration{25});
  ScheduleSection by_tokens{{}, 0, options::WsdSchedule{{Duration{60000, Duration::Unit::tokens}}}};
  CHECK(planned(by_tokens, 250).decay == 60);
  ScheduleSection short_run{{}, 0, options::WsdSchedule{}};
  CHECK(planned(short_run, 2).decay == 1);

  ScheduleSection share{{5, Duration::Unit::percent},
                        0,
                        options::WsdSchedule{{Duration{50, Duration::Unit::percent}}}};
  CHECK(planned(share, 250).warmup == 13);  // 12.5, rounded up as a ratio of other tools is
  CHECK(planned(share, 250).decay == 125);

  ScheduleSection inverse{{40}, 0, options::InverseSqrtSchedule{}},
      cold{{}, 0, options::InverseSqrtSchedule{}};
  CHECK(planned(inverse, 250).timescale == 40);
  CHECK(std::get<options::InverseSqrtSchedule>(inverse.course).timescale.value == Duration{40});
  CHECK(planned(cold, 250).timescale == 10000);

  check_sentence("plan.schedule/schedule_warmup_steps_longer_than",
                 refusal({{11}, 0, options::CosineSchedule{}}, 10));
  check_sentence("plan.schedule/schedule_warmup_steps_schedule_decay",
                 refusal({{5}, 0, options::WsdSchedule{{Duration{6}}}}, 10));
  check_sentence("plan.schedule/schedule_warmup_steps_schedule_decay_2",
                 refusal({{10}, 0, options::WsdSchedule{}}, 10));
  CHECK(refusal({{5}, 0, options::WsdSchedule{{Duration{5}}}}, 10).empty());
}

TEST_CASE("a schedule of the user's own is asked about the steps after its warm-up") {
  std::vector<std::int64_t> asked;
  const options::OwnSchedule own{"course", "", {}, [&](const std::vector<OptionField>&) {
                                   return [&](const ScheduleStep& step) {
                                     CHECK(step.total == 6);
                                     CHECK(step.warmup == 2);
                                     CHECK(step.lr == lr);
                                     asked.push_back(step.applied);
                                     return 1 / static_cast<double>(step.applied);
                                   };
                                 }};
  const ScheduleSection schedule{Duration{}, 0, own};
  const auto table = plan::learning_rate_table(schedule, lr, {2, 6});
  CHECK(asked == std::vector<std::int64_t>{2, 3, 4, 5});
  const std::vector<double> want{lr / 2, lr, lr / 2, lr / 3, lr / 4, lr / 5};
  REQUIRE(table.size() == want.size());
  for (std::size_t s = 0; s < want.size(); ++s) CHECK(std::abs(table[s] - want[s]) <= 1e-15);
}

}  // namespace schedule_test
