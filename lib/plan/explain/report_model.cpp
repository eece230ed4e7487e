// The batch, what was chosen and the model.
#include "architectures/architecture.hpp"
#include "core/units.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include "plan/choose/layers_in_parts.hpp"
#include "plan/explain/expert_cost.hpp"
#include "plan/explain/human_time.hpp"
#include "plan/explain/printed.hpp"
#include "plan/explain/products.hpp"
#include "plan/explain/report_sections.hpp"
#include "plan/explain/run_length.hpp"
#include "plan/explain/summary.hpp"
#include "recipe/walk.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

/// Rows of the embedding and columns of the logits, padded to whole tiles.
std::int64_t padded_vocabulary(const architectures::ModelDims& dims) {
  return std::visit(
      [](const auto& d) -> std::int64_t {
        if constexpr (requires { d.padded_vocab_size(); })
          return d.padded_vocab_size();
        else
          return d.vocab_size;
      },
      dims);
}

std::string describe_attention(const RunPlan& plan) {
  switch (plan.recipe.model.attention) {
    case AttentionKind::cudnn: return "cudnn: its fused kernels";
    case AttentionKind::flash:
      return plan.on_gpu ? "flash: LibTorch's for GPUs" : "flash: LibTorch's for CPUs";
    case AttentionKind::efficient: return "efficient: LibTorch's memory-efficient kernels";
    case AttentionKind::math: return "math: all scores in memory";
    case AttentionKind::automatic: break;
  }
  if (!plan.on_gpu)
    return architectures::has_own_attention(plan.dims) ? "auto: trainx's own loops"
                                                       : "auto: LibTorch's flash for CPUs";
  std::vector<operations::Attention> all = architectures::attention_of(plan.dims);
  bool by_library = false, by_trainx = false;
  for (operations::Attention& a : all) {
    a.length = plan.row_lengths.back();
    a.compute_capability = plan.compute_capability;
    (operations::is_by_cudnn(a, plan.compute) ? by_library : by_trainx) = true;
  }
  if (!by_library) return "auto: trainx's own kernels";
  return by_trainx ? "auto: cuDNN's fused kernels and trainx's own" : "auto: cuDNN's fused kernels";
}

std::int64_t most_at_once(const program::StepProgram& p, const auto& counts) {
  std::vector<std::int64_t> change(p.steady.size() + 1);
  const auto lives = program::lifetimes(p);
  for (std::size_t b = 0; b < lives.size(); ++b)
    for (const program::Interval& i : lives[b])
      if (counts(p.buffers[b])) {
        change[static_cast<std::size_t>(i.first)] += p.buffers[b].bytes();
        change[static_cast<std::size_t>(i.last) + 1] -= p.buffers[b].bytes();
      }
  std::int64_t most = 0, sum = 0;
  for (const std::int64_t c : change) most = std::max(most, sum += c);
  return most;
}
/// Peak bytes of an evaluation in another type than training: cast weights, then values and
/// scratch.
std::int64_t cast_bytes(const program::StepProgram& p) {
  return most_at_once(p, [](const program::Buffer& b) {
    return b.role == program::Role::parameter && !b.resident;
  });
}
std::int64_t activation_bytes(const program::StepProgram& p) {
  return most_at_once(p, [](const program::Buffer& b) {
    return b.role == program::Role::value || b.role == program::Role::scratch;
  });
}

std::string compute_words(const RunPlan& plan) {
  const std::string type(name_of(plan.compute));
  if (plan.master == program::Master::split)
    return type + ", exact fp32 weights split into bf16 and their low 16 bits";
  if (plan.master == program::Master::fp32) return type + ", fp32 master weights";
  if (plan.compute != DType::bf16) return type;
  return type + (plan.recipe.precision.rounding == recipe::Rounding::stochastic
                     ? ", weights too, rounded stochastically (seed " +
                           std::to_string(plan.recipe.run.seed) + ")"
                     : ", weights too");
}

void tell_parameters(const RunPlan& plan, ReportSection& s) {
  s.both("parameters", parameter_count(plan),
         row("parameters",
             human_count(parameter_count(plan)) + trained_words(plan) + active_words(plan)));
  if (!plan.recipe.optimizer.groups.empty())
    s.give("trained_parameters", trained_parameter_count(plan));
  if (const double active = active_parameter_count(plan); active < parameter_count(plan))
    s.give("active_parameters", active);
  if (const auto experts = expert_cost(plan))
    s.both("experts", to_json(*experts), row("experts", describe(*experts)));
  if (const auto padded = padded_vocabulary(plan.dims);
      padded != architectures::vocab_size(plan.dims))
    s.tell(row("vocabulary", std::to_string(architectures::vocab_size(plan.dims)) +
                                 ", computed as " + std::to_string(padded) +
                                 ": rows padded to whole tiles, nothing to change"));
}

}  // namespace

ReportSection batch_section(const RunPlan& plan, double price_per_gpu_hour) {
  ReportSection s{"batch", {}};
  const BatchPlan& batch = plan.batch;
  const RunLength length = run_length(plan);
  s.both("global_batch_size", batch.global_batch_size,
         row("global_batch_size",
             std::to_string(batch.global_batch_size) + " samples = micro_batch_size " +
                 std::to_string(batch.micro_batch_size) + " * grad_accum_steps " +
                 std::to_string(batch.grad_accum_steps) + " * " + batches_factor(plan) + " " +
                 std::to_string(plan.mesh.batches())));
  s.give("micro_batch_size", batch.micro_batch_size);
  s.give("grad_accum_steps", batch.grad_accum_steps);
  s.give("world_size", plan.mesh.world);
  if (plan.mesh.context > 1) s.give("context_ranks", plan.mesh.context);
  if (plan.mesh.tensor > 1) s.give("tensor_ranks", plan.mesh.tensor);
  s.give("row_lengths", plan.row_lengths);
  s.both("tokens_per_step", plan.tokens_per_step,
         row("tokens per step",
             tokens_words(plan, static_cast<double>(plan.tokens_per_step)) +
                 (length.counts_padding ? ", if no sample is shorter than a row" : "")));
  s.both("total_steps", plan.total_steps,
         row("steps", plan.total_steps >= 0
                          ? std::to_string(plan.total_steps) + " (" +
                                tokens_words(plan, length.tokens) + " tokens)"
                          : "as many as run in " + human_seconds(plan.total_seconds)));
  s.give("run", to_json(length, price_per_gpu_hour));
  s.both("learning_rate",
         {{"schedule", recipe::alternative_name(plan.recipe.schedule.course)},
          {"warmup_steps", plan.schedule.warmup},
          {"first", plan.lr_table.front()},
          {"highest", *std::ranges::max_element(plan.lr_table)},
          {"last", plan.lr_table.back()}},
         row("learning rate", schedule_words(plan)));
  return s;
}

ReportSection choices_section(const RunPlan& plan) {
  ReportSection s{"chosen", {}};
  std::string text;
  for (const std::string& choice : plan.choices) text += "  " + choice + "\n";
  s.both("choices", plan.choices, text);
  return s;
}

ReportSection model_section(const RunPlan& plan) {
  ReportSection s{"model", {}};
  tell_parameters(plan, s);
  s.both("compute", name_of(plan.compute), row("compute", compute_words(plan)));
  if (const std::string fp8 = describe_products(plan); !fp8.empty())
    s.both("products", fp8, row("products", fp8));
  if (plan.compute == DType::f16)
    s.tell(row("loss scale",
               printed("%.0f", plan.loss_scale.initial) +
                   (plan.loss_scale.window == 0
                        ? ""
                        : " initially; halved after a step with non-finite gradients, doubled "
                          "after " +
                              std::to_string(plan.loss_scale.window) + " finite steps")));
  if (!std::holds_alternative<architectures::CustomDims>(plan.dims)) {
    const std::string attention = describe_attention(plan);
    s.both("attention", attention, row("attention", attention));
  }
  if (const auto& evaluate = plan.role().evaluate.back(); evaluate.graph.stored) {
    const std::int64_t cast = cast_bytes(evaluate.program),
                       activations = activation_bytes(evaluate.program);
    const std::string compute(name_of(evaluate.graph.compute));
    s.both("evaluation",
           {{"compute", compute}, {"cast_bytes", cast}, {"activation_bytes", activations}},
           row("evaluation", compute + ", to which weights are cast block by block: at most " +
                                 human_bytes(cast) + " at a time, and " + human_bytes(activations) +
                                 " of activations"));
  }
  // null: what modules of the user's own compute is not counted
  if (counts_flops(plan)) {
    const double flops = plan.mesh.pipeline == 1
                             ? step_flops(plan.role().train.back())
                             : plan.flops_per_token() * static_cast<double>(plan.tokens_per_step) /
                                   plan.mesh.ranks();
    s.both("flops_per_step", flops, row("FLOPs per step", human_flops(flops)));
  } else {
    s.both("flops_per_step", nullptr, row("FLOPs per step", "not counted: modules of your own"));
  }
  return s;
}

}  // namespace trainx::plan
