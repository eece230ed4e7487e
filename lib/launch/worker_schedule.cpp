#include "launch/worker_schedule.hpp"
#include "launch/ask_worker.hpp"
#include "launch/worker_refusal.hpp"
#include "options/field_json.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace trainx::launch {
namespace {

using nlohmann::json;

/// Shares of the learning rate from the end of the warm-up on.
using Factors = std::vector<double>;

Factors ask(const std::string& worker, const std::string& question, std::int64_t count) {
  const json said =
      json::parse(ask_worker(worker, "--describe-schedule", question), nullptr, false);
  try {
    if (said.is_object() && said.contains("problem"))
      throw UserError(ExitCode::invalid_recipe, said.at("problem").get<std::string>());
    auto factors = said.at("factors").get<Factors>();
    if (std::ssize(factors) == count) return factors;
  } catch (const json::exception&) {}  // told as a wrong count is
  refuse_worker(worker,
                "answers --describe-schedule otherwise than a worker of trainx does; build it "
                "again");
}

/// The course that was asked for last.
struct Course {
  ScheduleStep of{.total = -1};
  Factors factors;
};

}  // namespace

std::function<ScheduleFunction(const std::vector<OptionField>&)> asked_schedule(
    const std::string& worker, const std::string& name) {
  return [=, answers = std::make_shared<std::map<std::string, Factors>>()](
             const std::vector<OptionField>& fields) -> ScheduleFunction {
    return [=, options = options::values_to_json(fields),
            course = std::make_shared<Course>()](const ScheduleStep& s) {
      const ScheduleStep& of = course->of;
      if (of.total != s.total || of.warmup != s.warmup || of.lr != s.lr) {
        const json question{{"schedule", name},
                            {"options", options},
                            {"total", s.total},
                            {"warmup", s.warmup},
                            {"lr", s.lr}};
        const std::string text = question.dump();
        const auto count = std::max<std::int64_t>(s.total, 1) - s.warmup;
        if (!answers->contains(text)) answers->emplace(text, ask(worker, text, count));
        *course = {s, answers->at(text)};
      }
      return course->factors.at(static_cast<std::size_t>(s.applied - s.warmup));
    };
  };
}

}  // namespace trainx::launch
