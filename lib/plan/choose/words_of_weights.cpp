// Where weights are updated, when they are cast and how long gathered ones stay.
#include "core/units.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/telling.hpp"
#include "plan/explain/percent.hpp"
#include "plan/weight_casts.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::plan {

void tell_share(Telling& t) {
  if (t.searched.space.groups_on_device.size() == 1) return;
  std::string text = "memory.optimizer_offload.share ";
  if (!t.search.knows_copies())
    return t.add(text +
                 "0: how fast copies to the host are was not measured here, so that what updates "
                 "on the GPU would save is not known");
  Decisions none = t.now;
  none.groups_on_device = 0;
  const Evaluation& of_none = t.evaluator.of(none);
  const int groups = t.searched.space.groups_on_device.back();
  if (t.now.groups_on_device == groups)
    return t.add(
        "memory.optimizer_offload none: share: auto leaves all of it on the GPU, which "
        "has room for it (" +
        human_bytes(t.takes.bytes) + "), and a step takes " +
        percent(1 - t.takes.seconds / of_none.seconds) + " less");
  char number[32];
  std::snprintf(number, sizeof number, "%.2f", share_on_device(t.plan));
  text += number;
  if (t.now.groups_on_device > 0)
    return t.add(text + ": " + percent(1 - t.takes.seconds / of_none.seconds) +
                 " of a step less than with all of it elsewhere, and " +
                 human_bytes(t.takes.bytes - of_none.bytes) + " more");
  bool any_is_faster = false;
  for (const int on_device : t.searched.space.groups_on_device) {
    Decisions more = t.now;
    more.groups_on_device = on_device;
    any_is_faster = any_is_faster || t.evaluator.of(more).seconds < 0.995 * t.takes.seconds;
  }
  t.add(text + (any_is_faster ? ": memory.budget has no room for more"
                              : ": updates on the GPU would not be faster"));
}

void tell_casts(Telling& t) {
  if (t.now.casts_weights_once) return;
  Decisions once = t.now;
  once.casts_weights_once = true;
  Draft cast = t.plan;
  cast.casts_weights_once = true;
  const Evaluation& takes = t.evaluator.memory_of(once);
  const std::int64_t host_has = t.search.budget().host_bytes;
  t.add((casts_weights_before_gathers(cast)
             ? "weights are gathered in " + std::string(name_of(t.plan.compute)) + ", and"
             : std::string("weights are")) +
        " cast to fp8 in each micro-step, in forward and again in backward (" +
        human_bytes(t.takes.bytes) +
        "): with copies that live for a whole step the run would need " +
        (host_has > 0 && takes.host_bytes > host_has
             ? human_bytes(takes.host_bytes) + " on the host, where it has " + human_bytes(host_has)
             : human_bytes(takes.bytes) + t.of_budget));
}

void tell_disk(Telling& t) {
  if (t.now.optimizer != recipe::OptimizerOffload::cpu_disk) return;
  const int groups = trained_groups(t.plan);
  if (t.now.groups_on_device == groups) return;
  const std::int64_t has = t.search.budget().host_bytes;
  t.add("memory.optimizer_offload: the optimizer of " + std::to_string(t.now.groups_on_disk) +
        " of " + std::to_string(groups) + " groups of parameters is on the disk" +
        (has <= 0                    ? ": how much memory the host has is not known"
         : t.now.groups_on_disk == 0 ? ": the host's memory (" + human_bytes(has) + ") holds all"
                                     : ": host memory of " + human_bytes(has) + " holds no more"));
}

void tell_kept_weights(Draft& plan, Search& search) {
  if (plan.zero_stage() != 3) return;
  const std::string again_text = "zero3 gathers weights again for backward";
  if (!plan.knows_links)
    return plan.choices.push_back(
        again_text +
        ", which takes the least memory: how fast the links between ranks are was not measured, so "
        "that what keeping them from forward would save is not known");
  Evaluator& evaluator = search.evaluator();
  const Decisions now = decisions_of(plan);
  Decisions again = now;
  again.turns_kept = 0;
  const Evaluation takes = evaluator.of(now), of_again = evaluator.of(again);
  const auto gathers = [&](const Decisions& c) {
    return gathers_of_step(plan_programs(applied(plan, c), Extent::bytes).train.back().program);
  };
  const std::string times = std::to_string(gathers(again)) + " times a step";
  if (now.turns_kept > 0)
    return plan.choices.push_back(
        "zero3 keeps weights from forward to backward where no more than " +
        std::to_string(now.turns_kept) + " blocks' work lies between: they are gathered " +
        std::to_string(gathers(now)) + " times a step instead of " +
        std::to_string(gathers(again)) + ", which saves " +
        percent(1 - takes.seconds / of_again.seconds) + " of it and takes " +
        human_bytes(takes.bytes - of_again.bytes) + " more");
  std::string why =
      "gathers lie beside the blocks before them, and keeping weights from forward would save less "
      "than 0.5 % of a step";
  // Of deep models whether it saves time at all is estimated, by what keeping all would save.
  const bool is_deep = !search.estimator().is_exact();
  const auto nearly = [&](int turns) {
    Decisions kept = again;
    kept.turns_kept = turns;
    if (!is_deep) return evaluator.of(kept);
    kept.levels.resize(1);
    kept.segment = 1;
    return search.estimator().of(kept);
  };
  const Evaluation none = nearly(0);
  for (int turns = 4, kept = 0; nearly(kept).gathers > none.gathered_groups; turns *= 2) {
    kept = turns;
    if (nearly(turns).seconds >= 0.995 * none.seconds) continue;
    Decisions longer = again;
    longer.turns_kept = is_deep ? whole_step : turns;
    const Evaluation& e = evaluator.of(longer);
    why = "keeping them from forward would save " + percent(1 - e.seconds / of_again.seconds) +
          " of a step, and needs " + human_bytes(e.bytes) + " of " + human_bytes(plan.budget_bytes);
    break;
  }
  plan.choices.push_back(again_text + ", " + times + ": " + why);
}

}  // namespace trainx::plan
