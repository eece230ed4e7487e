// What experts cost, and fewer of them that would cost less.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::plan {

struct ExpertCost {
  std::int64_t layers = 0;  // with experts
  std::int64_t experts = 0, per_token = 0;
  double parameters = 0, active = 0;  // of experts; of those that compute a token
  // what a rank has of them
  std::int64_t weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  bool operator==(const ExpertCost&) const = default;
};
/// Nothing for a model without experts.
std::optional<ExpertCost> expert_cost(const RunPlan& plan);
std::string describe(const ExpertCost& cost);
nlohmann::json to_json(const ExpertCost& cost);

/// A smaller mixture: a few experts, in every other layer.
struct ExpertAdvice {
  std::string code;  // of the rule: every_other_layer, few_experts
  std::string key;
  std::int64_t now = 0, better = 0;
  std::int64_t fewer_bytes = 0;  // memory of a rank
  std::string reason;
};
/// Of a GPT-2 with new weights, where it saves memory worth telling.
std::vector<ExpertAdvice> expert_advice(const RunPlan& plan);
std::string describe(const std::vector<ExpertAdvice>& advice);
nlohmann::json to_json(const std::vector<ExpertAdvice>& advice);

}  // namespace trainx::plan
