#include "attested_run.hpp"
#include "core/error.hpp"
#include "model/model.hpp"
#include "plan/memory_plan.hpp"
#include "train/attest_observer.hpp"

namespace trainx::train::test {

plan::RunPlan attested_plan(const std::string& precision, const std::string& activation_checkpoint,
                            bool deterministic, const Levers& levers) {
  const std::string text =
      std::string(
          "run: {name: attested, seed: 5, duration: 3 steps, device: gpu, deterministic: ") +
      (deterministic ? "true" : "false") + ", execution: " + levers.execution +
      "}\nmodel: {type: gpt2, attention: " + levers.attention +
      ", options: {num_layers: 2, num_heads: 2, hidden_size: 128, max_positions: 128, vocab_size: "
      "500}}\n"
      "data: {type: stories, sequence_length: 128, samples: 64}\nbatch: {global_batch_size: 8, "
      "micro_batch_size: " +
      (levers.update_in_backward ? "8" : "4") + "}\nprecision: " + precision +
      "\noptimizer: {type: adamw, lr: 1e-3" +
      (levers.update_in_backward ? ", max_grad_norm: 0, update_in_backward: true" : "") +
      "}\nmemory: {activation_checkpoint: " + activation_checkpoint +
      ", activation_offload: " + (levers.activation_offload ? "cpu" : "none") +
      ", optimizer_offload: " +
      (levers.rounded_gradients   ? "{where: cpu, gradients: bf16}"
       : levers.optimizer_offload ? "cpu"
                                  : "none") +
      "}\n";
  facts::Facts facts;
  facts.data.train_present = true;
  facts.data.train_samples = 64;
  return plan::make_run_plan(recipe::parse_recipe(text, "attested").recipe, facts);
}

plan::RunPlan replanned(plan::RunPlan plan, const std::function<void(plan::RunPlan&)>& change) {
  const recipe::Recipe asked = plan.recipe;
  change(plan);
  plan.program_set = plan::plan_program_set(plan);
  for (plan::RankRole& role : plan.program_set.roles)
    role.memory = plan::plan_memory_budget(plan, role);
  plan.memory = plan.program_set.largest_memory();
  plan.recipe = asked;
  return plan;
}

std::string Outcome::kernels() const {
  std::string text;
  if (captured)
    for (const auto& [name, count] : captured->kernels)
      text += std::to_string(count) + " " + name + "\n";
  return text;
}

namespace {

class Losses final : public Observer {
 public:
  explicit Losses(std::vector<double>& to) : to_(to) {}
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState&, const FinishedStep& step, bool) override {
    to_.push_back(step.loss);
  }
  void on_end(TrainState&, execute::Request) override {}

 private:
  std::vector<double>& to_;
};

}  // namespace

Outcome run(const plan::RunPlan& plan, const std::function<void(TrainingParts&)>& sabotage,
            Degraded degraded) {
  Outcome out;
  metrics::Console console(
      {}, {[](std::string_view) {}, [&](std::string_view text) { out.warnings += text; }, false,
           [] { return 80; }, [] { return 0.0; }});
  TrainingParts parts(plan, open_split(plan, data::Split::train), nullptr);
  parts.resident.initialize(
      model::weight_initializer(plan.dims, static_cast<std::uint64_t>(plan.recipe.run.seed)),
      state::ResidentState::Memory::new_arena);
  if (sabotage) sabotage(parts);
  parts.start({});
  Losses losses(out.losses);
  parts.trainer->add(losses);
  AttestObserver attest(parts, console, degraded == Degraded::allowed);
  parts.trainer->add(attest);
  try {
    parts.trainer->run();
  } catch (const UserError& error) {
    if (error.code() != ExitCode::not_as_asked) throw;
    out.refusal = error.what();
  }
  if (const auto& captured = parts.executor->captured_kernels(); !captured.empty())
    out.captured = captured.back();
  return out;
}

}  // namespace trainx::train::test
