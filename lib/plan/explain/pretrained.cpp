#include "plan/explain/pretrained.hpp"
#include "plan/explain/printed.hpp"
#include <algorithm>
#include <variant>

namespace trainx::plan {
namespace {

bool is_left_out(const recipe::Origins& origins, const std::string& key) {
  const auto origin = origins.find(key);
  return origin != origins.end() && origin->second == "default";
}

/// Whether optimizer.lr is what the optimizer follows.
bool follows_lr(const recipe::OptimizerSection& optimizer) {
  const auto* adafactor = std::get_if<options::AdafactorOptions>(&optimizer.options);
  const bool by_group = std::ranges::any_of(
      optimizer.groups, [](const recipe::ParameterGroup& g) { return g.lr.has_value(); });
  return !(adafactor && adafactor->relative_step) && !by_group;
}

}  // namespace

PretrainedRemarks pretrained_remarks(const recipe::Recipe& recipe, const recipe::Origins& origins) {
  PretrainedRemarks remarks;
  if (!recipe.model.init_from) return remarks;
  const std::string from = *recipe.model.init_from;
  const bool no_schedule = is_left_out(origins, "schedule.type") &&
                           is_left_out(origins, "schedule.warmup");
  const bool adapts = recipe.model.adapter.type != options::AdapterType::none;
  if (!follows_lr(recipe.optimizer)) {
    // the recipe says the rates in another way
  } else if (adapts && is_left_out(origins, "optimizer.lr")) {
    remarks.hints.push_back(
        "optimizer.lr is left out: adapters take about ten times that of full training, for "
        "example 2e-4");
  } else if (is_left_out(origins, "optimizer.lr")) {
    remarks.warnings.push_back(
        "optimizer.lr is left out, and " + from +
        " has trained weights: " + printed("the default, %g", recipe.optimizer.lr) +
        (no_schedule ? ", constant from the first step," : ",") +
        " is for new ones and ruins most trained ones; write optimizer.lr, for example 2e-5" +
        (no_schedule ? ", and a schedule with a warm-up" : ""));
  } else if (no_schedule) {
    remarks.hints.push_back(
        "schedule is left out, and " + from +
        " has trained weights: the first steps have the whole optimizer.lr; write for example "
        "schedule: {type: linear, warmup: 5 %}");
  }
  if (const auto* bytes = std::get_if<options::AdamW8bitOptions>(&recipe.optimizer.options);
      bytes && !bytes->embeddings_32bit &&
      !std::holds_alternative<options::CustomOptions>(recipe.model.options) &&
      is_left_out(origins, "optimizer.options.embeddings_32bit"))
    remarks.hints.push_back(
        "optimizer.options.embeddings_32bit: true keeps moments of the embeddings in 32 bits, as "
        "the Trainer's 8-bit AdamW does with trained weights");
  return remarks;
}

}  // namespace trainx::plan
