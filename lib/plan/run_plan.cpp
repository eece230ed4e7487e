#include "plan/run_plan.hpp"
#include "core/hash.hpp"
#include "architectures/exported.hpp"
#include "passes/passes.hpp"
#include "plan/adapter.hpp"
#include "plan/attention.hpp"
#include "plan/check_programs.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/saving.hpp"
#include "plan/choose/experts.hpp"
#include "plan/choose/layers_in_parts.hpp"
#include "plan/choose/decide.hpp"
#include "plan/choose/degrees.hpp"
#include "plan/execution.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/micro_steps.hpp"
#include "plan/own_rule.hpp"
#include "plan/parameter_groups.hpp"
#include "plan/pipeline_time.hpp"
#include "plan/precision.hpp"
#include "plan/refusal.hpp"
#include "plan/stages.hpp"
#include "program/print.hpp"
#include "program/shards.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

void require_offloaded_activations(const Draft& plan, const Programs& programs) {
  if (plan.recipe.memory.activation_offload == recipe::ActivationOffload::cpu &&
      offloaded_bytes(programs.train.back().program) == 0)
    throw UserError(ExitCode::invalid_recipe,
                    "memory.activation_offload can have no effect: with so few blocks no "
                    "activation stays long enough to be copied; write none");
}

/// Stages wait for each other.
void predict_pipeline(Prediction& prediction, const Draft& plan, const ProgramSet& set) {
  const auto cut = pipeline_cut(plan, set.roles.front().train.back().graph);
  std::vector<StageTime> stages;
  for (const RankRole& role : set.roles)
    stages.push_back(stage_time(role.train.back(), cut, role.time->step_s, *prediction.step_rates));
  const PipelineTime time = pipeline_time(cut, stages);
  prediction.time->step_s = time.step_s;
  prediction.pipeline_idle_share = time.idle_share;
}

/// Of the longest rows.
void predict_step(Prediction& prediction, Draft& plan, const hardware::Hardware& device,
                  ProgramSet& set) {
  const recipe::Recipe& r = plan.recipe;
  prediction.rates_are_estimated = device.is_estimated;
  prediction.published_error = device.published_error;
  if (prediction.step_rates) {
    for (RankRole& role : set.roles) {
      const PlacedProgram& longest = role.train.back();
      role.time = program::predict_time(longest.program, longest.order, longest.graph,
                                        *prediction.step_rates);
    }
    prediction.time = set.slowest_time();
    if (plan.mesh.pipeline > 1) predict_pipeline(prediction, plan, set);
    if (r.model.attention == AttentionKind::flash || r.model.attention == AttentionKind::efficient)
      plan.notes.push_back("attention by " + std::string(name_of(r.model.attention)) +
                           " was not measured: its time is predicted as that of auto");
    if (options::packs_documents(r.data.source))
      plan.notes.push_back(
          "attention inside documents (data.packed) depends on their lengths: its time is "
          "predicted for one document per row");
  }
  const bool tf32 = r.precision.compute == recipe::Compute::tf32, low = plan.compute != DType::f32;
  // what modules of the user's own compute is not known
  prediction.peak_flops = std::holds_alternative<architectures::CustomDims>(plan.dims) ? 0
                          : low  ? device.bf16_peak_flops
                          : tf32 ? device.tf32_peak_flops
                                 : device.fp32_peak_flops;
}

/// What was `auto` or derived, so that the run's resolved.yaml says it.
void write_into_recipe(Draft& plan, std::int64_t budget_bytes) {
  recipe::Recipe& r = plan.recipe;
  if (budget_bytes > 0) r.memory.budget.value = ByteSize{budget_bytes};
  r.batch = {
      plan.batch.global_batch_size, {plan.batch.micro_batch_size}, plan.batch.grad_accum_steps};
  r.run.device.value = plan.on_gpu ? recipe::DeviceKind::gpu : recipe::DeviceKind::cpu;
  if (plan.compute != DType::f32 && r.precision.master.is_auto())
    r.precision.master.value = plan.master == program::Master::fp32 ? recipe::MasterWeights::fp32
                                                                    : recipe::MasterWeights::split;
}

}  // namespace

double RunPlan::flops_per_token() const {
  if (mesh.pipeline > 1) {
    double flops = 0;  // of each rank with a batch of its own, once in each stage
    for (const RankRole& of_stage : program_set.roles) flops += step_flops(of_stage.train.back());
    return flops * mesh.stage_ranks() / static_cast<double>(tokens_per_step);
  }
  return step_flops(role().train.back()) * static_cast<double>(mesh.ranks()) /
         static_cast<double>(tokens_per_step);
}

RunPlan with_fallback(const RunPlan& plan, const facts::Facts& facts,
                      const std::set<std::string>& fp8_fallback) {
  return make_run_plan(
      plan.recipe, facts,
      {.gpu = {}, .every_micro_step = plan.every_micro_step, .fp8_fallback = fp8_fallback});
}

namespace {

/// What is said of ranks that share a batch, with the reason for their number where it was chosen.
std::string with_reason(const std::string& words, const std::string& reason) {
  if (words.empty() || reason.empty()) return words + reason;
  return words + "; " + reason;
}

/// The rest of a plan, once a search has ended.
RunPlan made_whole(Drafted drafted, Choosing& choosing, const DegreeReasons& why,
                   const DraftOf& draft_of) {
  Draft& plan = drafted.plan;
  const Redraft again{plan.recipe, draft_of};
  choosing.take(plan);
  require_plannable_micro_steps(plan, plan.batch.grad_accum_steps);
  require_turns(plan);
  require_graphs_apart(plan);
  for (std::string words :
       {with_reason(stages_words(plan), why.pipeline), shared_experts_words(plan),
        with_reason(shared_rows_words(plan), why.context),
        with_reason(layers_in_parts_words(plan), why.tensor)})
    if (!words.empty()) plan.choices.push_back(std::move(words));
  ProgramSet set = plan_program_set(plan);
  const Programs& programs = set.roles.front();
  if (std::string stay = weights_on_device_words(plan, programs.train.back().graph); !stay.empty())
    plan.choices.push_back(std::move(stay));
  if (plan.adapter) require_adapters(*plan.adapter, programs.train.back().graph);
  if (plan.on_gpu) require_products_in_fp8(plan, programs.train.back().graph);
  require_offloaded_activations(plan, programs);

  Prediction& prediction = drafted.prediction;
  for (RankRole& role : set.roles) {
    role.memory = plan_memory_budget(plan, role);
    role.memory.budget_bytes = plan.budget_bytes;
  }
  require_fits(plan, set.largest_memory(), drafted.rates(), &again);
  require_sound_programs(plan, set);
  choose_asynchronous(plan, set);
  prediction.memory = set.largest_memory();
  if (drafted.predicts) predict_step(prediction, plan, *drafted.device, set);

  write_into_recipe(plan, prediction.memory.budget_bytes);
  choose_execution(plan);
  if (std::string note = own_rule_note(plan); !note.empty()) plan.notes.push_back(std::move(note));
  return {std::move(plan), std::move(drafted.times), std::move(prediction), std::move(set)};
}

}  // namespace

RunPlan make_run_plan(const recipe::Recipe& recipe, const facts::Facts& facts,
                      const PlanOptions& options) {
  const std::int64_t of_host = facts.hardware.local_ranks;
  const DraftOf draft_of = [&](const recipe::Recipe& r) { return draft_run(r, facts, options); };
  if (recipe.parallel.batch_ranks()) {
    Drafted drafted = draft_of(recipe);
    Choosing choosing(drafted.plan, drafted.rates(), of_host);
    choosing.search();
    return made_whole(std::move(drafted), choosing, {}, draft_of);
  }
  DegreeSearch search(recipe, draft_of, of_host);
  for (;;) {
    DegreeSearch::Candidate& best = search.best();
    try {
      return made_whole(best.drafted, *best.choosing, search.reasons(best), draft_of);
    } catch (const UserError& refused) {
      if (refused.code() != ExitCode::invalid_recipe || !search.leave_out(best, refused.what()))
        throw;
    }
  }
}

std::string fingerprint(const RunPlan& plan) {
  recipe::Recipe recipe = plan.recipe;
  recipe.memory.budget = {};  // follows from the machine: ranks may differ in it
  // likewise, from the host's memory: what is computed is the same
  recipe.checkpoint.asynchronous = {};
  std::string all = recipe::dump(recipe);
  for (const RankRole& role : plan.program_set.roles)
    for (const auto* programs : {&role.train, &role.evaluate})
      for (const PlacedProgram& p : *programs) {
        all += program::print(p.program);
        all.append(reinterpret_cast<const char*>(p.placement.base.data()),
                   p.placement.base.size() * sizeof(program::Bytes));
      }
  all.append(reinterpret_cast<const char*>(plan.lr_table.data()),
             plan.lr_table.size() * sizeof(double));
  return hash_hex(all);
}

}  // namespace trainx::plan
