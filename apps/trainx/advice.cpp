#include "advice.hpp"
#include "plan/explain/advice.hpp"
#include "plan/explain/expert_cost.hpp"
#include "plan/explain/needless.hpp"
#include "plan/explain/precision_cost.hpp"
#include "plan/stages.hpp"

namespace trainx::app {

plan::PretrainedRemarks remarks_of(const Prepared& p) {
  auto remarks = plan::pretrained_remarks(p.loaded.recipe, p.loaded.origins);
  if (std::string warning = plan::idle_stages_warning(p.plan); !warning.empty())
    remarks.warnings.push_back(std::move(warning));
  return remarks;
}

namespace {

std::vector<plan::Needless> needless_of(const Prepared& p, const plan::PlanOptions& options) {
  return plan::needless_levers(
      p.plan, [&](const recipe::Recipe& r) { return plan::draft_run(r, p.facts, options); });
}

}  // namespace

PlanAdvice plan_advice(const Prepared& p, const plan::PlanOptions& options) {
  const auto sizes = plan::advise(p.plan);
  const auto needless = needless_of(p, options);
  const auto experts = plan::expert_advice(p.plan);
  const auto precision = plan::cost_of_fp32(p.plan, p.facts, options.gpu);
  PlanAdvice advice;
  advice.text = plan::describe(precision) + plan::describe(sizes, p.plan) +
                plan::describe(needless, p.plan) + plan::describe(experts);
  advice.entries = plan::to_json(precision);
  for (const auto& list : {plan::to_json(sizes), plan::to_json(needless), plan::to_json(experts)})
    advice.entries.insert(advice.entries.end(), list.begin(), list.end());
  auto remarks = remarks_of(p);
  advice.warnings = std::move(remarks.warnings);
  advice.hints = std::move(remarks.hints);
  if (const std::string hint = plan::batch_hint(p.plan); !hint.empty())
    advice.hints.push_back(hint);
  return advice;
}

void tell_advice(const Prepared& p, const Context& context,
                 const std::function<void(const std::string&)>& warn) {
  const auto remarks = remarks_of(p);
  for (const std::string& warning : remarks.warnings) warn(warning);
  if (context.output.json || context.output.quiet) return;
  std::string text = plan::describe(plan::cost_of_fp32(p.plan, p.facts, "")) +
                     plan::describe(needless_of(p, {}), p.plan);
  for (const std::string& hint : remarks.hints) text += "hint: " + hint + "\n";
  if (!text.empty()) say(context, text.substr(0, text.size() - 1));
}

}  // namespace trainx::app
