#include "plan/explain/expert_cost.hpp"
#include "architectures/active_parameters.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace trainx::plan {

using program::Role;

namespace {

// Smaller savings, as shares of a rank's memory, are not told.
constexpr double least_share = 0.1;
// Of a layer: a few, and from how many on there are dozens.
constexpr std::int64_t few_experts = 8, many_experts = 24;

/// Bytes of the largest buffer of that role that each group has, times its experts' share of it.
std::int64_t bytes_of(const program::StepProgram& p, const std::vector<double>& shares,
                      std::initializer_list<Role> roles) {
  std::map<std::tuple<Role, int, int>, std::int64_t> largest;
  for (const program::Buffer& b : p.buffers) {
    if (std::ranges::find(roles, b.role) == roles.end()) continue;
    if (b.role != Role::gradient && !b.resident) continue;
    std::int64_t& bytes = largest[{b.role, b.index, b.item}];
    bytes = std::max(bytes, b.bytes());
  }
  double sum = 0;
  for (const auto& [what, bytes] : largest)
    sum += static_cast<double>(bytes) * shares[static_cast<std::size_t>(std::get<1>(what))];
  return static_cast<std::int64_t>(sum);
}

}  // namespace

std::optional<ExpertCost> expert_cost(const RunPlan& plan) {
  const PlacedProgram& train = plan.role().train.back();
  const architectures::ExpertParameters of = architectures::expert_parameters(train.graph);
  if (of.layers == 0) return std::nullopt;
  ExpertCost cost{.layers = of.layers,
                  .experts = architectures::experts_of(plan.dims),
                  .per_token = architectures::experts_per_token(plan.dims)};
  std::vector<double> shares;
  for (std::size_t g = 0; g < of.by_group.size(); ++g) {
    cost.parameters += of.by_group[g];
    shares.push_back(of.by_group[g] / static_cast<double>(train.graph.groups[g].elements));
  }
  cost.active = cost.parameters - architectures::idle_parameters(train.graph);
  cost.weight_bytes = bytes_of(train.program, shares, {Role::parameter, Role::master});
  cost.gradient_bytes = bytes_of(train.program, shares, {Role::gradient});
  cost.state_bytes = bytes_of(train.program, shares, {Role::state});
  return cost;
}

std::string describe(const ExpertCost& c) {
  return std::to_string(c.experts) + " in each of " + std::to_string(c.layers) +
         (c.layers == 1 ? " layer, " : " layers, ") + std::to_string(c.per_token) +
         " for a token: " + human_count(c.parameters) + " parameters, of which " +
         human_count(c.active) + " compute a token; " + human_bytes(c.weight_bytes) +
         " of weights, " + human_bytes(c.gradient_bytes) + " of gradients, " +
         human_bytes(c.state_bytes) + " of optimizer state";
}

nlohmann::json to_json(const ExpertCost& c) {
  return {{"layers", c.layers},
          {"experts", c.experts},
          {"per_token", c.per_token},
          {"parameters", c.parameters},
          {"active_parameters", c.active},
          {"weight_bytes", c.weight_bytes},
          {"gradient_bytes", c.gradient_bytes},
          {"state_bytes", c.state_bytes}};
}

std::vector<ExpertAdvice> expert_advice(const RunPlan& plan) {
  std::vector<ExpertAdvice> out;
  const auto* now = std::get_if<architectures::Gpt2Dims>(&plan.dims);
  if (!now || now->num_experts == 0 || plan.recipe.model.init_from ||
      layers_of(plan.dims) > most_compared_layers)
    return out;
  const std::int64_t bytes = plan.memory.total_bytes();
  const auto tell = [&](ExpertAdvice told, const architectures::Gpt2Dims& better) {
    Draft other = plan;
    other.dims = better;
    told.fewer_bytes =
        bytes - plan_memory_totals(other, plan_programs(other, Extent::candidate)).total_bytes();
    if (static_cast<double>(told.fewer_bytes) >= least_share * static_cast<double>(bytes))
      out.push_back(std::move(told));
  };
  if (now->decoder_sparse_step == 1 && now->num_layers > 1) {
    architectures::Gpt2Dims better = *now;
    better.decoder_sparse_step = 2;
    tell({.code = "every_other_layer",
          .key = "model.options.decoder_sparse_step",
          .now = 1,
          .better = 2,
          .reason = "experts in every other layer are the usual mixture"},
         better);
  }
  if (now->num_experts >= many_experts && few_experts % plan.mesh.experts == 0 &&
      few_experts >= now->num_experts_per_tok) {
    architectures::Gpt2Dims better = *now;
    better.num_experts = few_experts;
    tell({.code = "few_experts",
          .key = "model.options.num_experts",
          .now = now->num_experts,
          .better = few_experts,
          .reason = "a token costs the same with a few experts, which suit a smaller machine"},
         better);
  }
  return out;
}

std::string describe(const std::vector<ExpertAdvice>& advice) {
  if (advice.empty()) return "";
  std::string out = "advice: experts that take less memory (changes the model)\n";
  for (const ExpertAdvice& a : advice)
    out += "  " + a.key + " " + std::to_string(a.now) + " -> " + std::to_string(a.better) + ": " +
           human_bytes(a.fewer_bytes) + " less memory; " + a.reason + "\n";
  return out;
}

nlohmann::json to_json(const std::vector<ExpertAdvice>& advice) {
  auto all = nlohmann::json::array();
  for (const ExpertAdvice& a : advice)
    all.push_back({{"code", a.code},
                   {"now", {{a.key, a.now}}},
                   {"better", {{a.key, a.better}}},
                   {"gain_ms", nullptr},
                   {"gain_share", nullptr},
                   {"more_bytes", -a.fewer_bytes},
                   {"reason", a.reason},
                   {"changes_training", true}});
  return all;
}

}  // namespace trainx::plan
