// The plan as text and as JSON.
#include "plan/run_plan.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include "plan/checkpoint_size.hpp"
#include "plan/choose/offload.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/explain/exchanges.hpp"
#include "plan/explain/expert_cost.hpp"
#include "plan/explain/host_traffic.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/explain/products.hpp"
#include "plan/explain/summary.hpp"
#include "program/print.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cstdio>

namespace trainx::plan {
namespace {

std::string row(const std::string& name, const std::string& value) {
  std::string s = "  " + name;
  s.resize(std::max<std::size_t>(26, s.size() + 1), ' ');
  return s + value + "\n";
}

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

/// Bytes that each memory lever saves: the plan without it, minus the plan with it.
std::vector<std::pair<std::string, std::int64_t>> saved_by_levers(const RunPlan& plan) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  // each comparison plans the whole run again
  if (layers_of(plan.dims) > most_searched_layers) return out;
  const auto compare = [&](const std::string& name, const auto& take_away) {
    Decisions without = plan;
    take_away(without.recipe);
    const Programs programs = plan_programs(without, Extent::bytes);
    out.emplace_back(
        name, plan_memory_totals(without, programs).total_bytes() - plan.memory.total_bytes());
  };
  if (plan.recipe.optimizer.update_in_backward)
    compare("update in backward",
            [](recipe::Recipe& r) { r.optimizer.update_in_backward = false; });
  const recipe::MemorySection& memory = plan.recipe.memory;
  if (plan.on_gpu && offloads_optimizer(plan))
    compare("optimizer offload", [](recipe::Recipe& r) {
      r.memory.optimizer_offload.where = recipe::OptimizerOffload::none;
    });
  if (plan.on_gpu && offloads_weights(plan))
    compare("parameter offload",
            [](recipe::Recipe& r) { r.memory.parameter_offload = recipe::ParameterOffload::none; });
  if (plan.on_gpu && memory.activation_offload != recipe::ActivationOffload::none)
    compare("activation offload", [](recipe::Recipe& r) {
      r.memory.activation_offload = recipe::ActivationOffload::none;
    });
  return out;
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

/// Of a step, those of micro-steps that the plan leaves out too.
std::int64_t instructions_of(const program::StepProgram& p) {
  std::int64_t count = 0;
  for (const program::Instruction& i : p.steady) count += program::times(p, i);
  return count;
}

std::string fixed(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

}  // namespace

std::string describe(const RunPlan& plan, bool with_program) {
  std::string out = "batch\n";
  out += row("global_batch_size",
             std::to_string(plan.batch.global_batch_size) + " samples = micro_batch_size " +
                 std::to_string(plan.batch.micro_batch_size) + " * grad_accum_steps " +
                 std::to_string(plan.batch.grad_accum_steps) + " * world_size " +
                 std::to_string(plan.mesh.data));
  out += row("tokens per step", human_count(static_cast<double>(plan.tokens_per_step)));
  out += row("steps", plan.total_steps >= 0
                          ? std::to_string(plan.total_steps) + " (" +
                                human_count(static_cast<double>(plan.total_steps) *
                                            static_cast<double>(plan.tokens_per_step)) +
                                " tokens)"
                          : "as many as run in " + human_seconds(plan.total_seconds));
  out += row("learning rate", schedule_words(plan));
  if (!plan.choices.empty()) out += "chosen\n";
  for (const auto& choice : plan.choices) out += "  " + choice + "\n";
  out += "model\n";
  out += row("parameters",
             human_count(parameter_count(plan)) + trained_words(plan) + active_words(plan));
  if (const auto experts = expert_cost(plan)) out += row("experts", describe(*experts));
  if (const auto padded = padded_vocabulary(plan.dims);
      padded != architectures::vocab_size(plan.dims))
    out += row("vocabulary", std::to_string(architectures::vocab_size(plan.dims)) +
                                 ", computed as " + std::to_string(padded) +
                                 ": rows padded to whole tiles, nothing to change");
  out += row("compute", std::string(name_of(plan.compute)) +
                            (plan.master == program::Master::split
                                 ? ", exact fp32 weights split into bf16 and their low 16 bits"
                             : plan.master == program::Master::fp32 ? ", fp32 master weights"
                             : plan.compute != DType::bf16          ? ""
                             : plan.recipe.precision.rounding == recipe::Rounding::stochastic
                                 ? ", weights too, rounded stochastically (seed " +
                                       std::to_string(plan.recipe.run.seed) + ")"
                                 : ", weights too"));
  if (const std::string fp8 = describe_products(plan); !fp8.empty()) out += row("products", fp8);
  if (plan.compute == DType::f16)
    out +=
        row("loss scale",
            fixed(plan.loss_scale.initial, 0) +
                (plan.loss_scale.window == 0
                     ? ""
                     : " initially; halved after a step with non-finite gradients, doubled after " +
                           std::to_string(plan.loss_scale.window) + " finite steps"));
  if (!std::holds_alternative<architectures::CustomDims>(plan.dims))
    out += row("attention", describe_attention(plan));
  if (const auto& evaluate = plan.evaluate.back(); evaluate.graph.stored)
    out += row("evaluation", std::string(name_of(evaluate.graph.compute)) +
                                 ", to which weights are cast block by block: at most " +
                                 human_bytes(cast_bytes(evaluate.program)) + " at a time, and " +
                                 human_bytes(activation_bytes(evaluate.program)) +
                                 " of activations");
  out += row("FLOPs per step", human_count(step_flops(plan.train.back())));
  out += "memory per rank\n";
  for (const auto& [name, bytes] : plan.memory.categories)
    if (bytes != 0) out += row(name, human_bytes(bytes));
  for (const auto& [name, saved] : saved_by_levers(plan))
    out += row(name,
               saved > 0 ? "saves " + human_bytes(saved) : "saves nothing: the peak is elsewhere");
  if (plan.memory.host_bytes > 0) {
    const std::string unknown = plan.rates && plan.rates->host_bytes_per_s <= 0
                                    ? " (copy rate not measured on this GPU)"
                                    : "";
    out += row("on the host", human_bytes(plan.memory.host_bytes) +
                                  (plan.on_gpu ? " of pinned memory"
                                               : " of the same memory, in an arena of its own"));
    if (plan.on_gpu)
      for (const auto& [name, bytes] : plan.memory.on_host)
        out += row("  " + name, human_bytes(bytes));
    if (const std::int64_t moved = offloaded_bytes(plan.train.back().program); moved > 0)
      out += row("offloaded activations",
                 "a step copies " + human_bytes(moved) + " out and back" + unknown);
    if (const OptimizerCopies copies = optimizer_copies(plan.train.back().program);
        copies.gradients_out > 0)
      out += row("optimizer on the host",
                 "a step copies " + human_bytes(copies.gradients_out) + " of gradients " +
                     (rounds_gradients(plan) ? "in bf16 " : "") + "out" +
                     (copies.weights_back > 0
                          ? " and " + human_bytes(copies.weights_back) + " of weights back"
                          : "") +
                     unknown + "; the CPU updates");
    if (const ParameterCopies copies = parameter_copies(plan.train.back().program); copies.in > 0)
      out += row(
          "offloaded weights",
          "a step copies " + human_bytes(copies.in) + " in, a block ahead of its use" +
              (weights_on_disk(plan) ? ", once it is read from the disk" : "") +
              (copies.out > 0 ? ", and " + human_bytes(copies.out) + " back from updates" : "") +
              unknown);
  }
  if (plan.memory.disk_bytes > 0) {
    const DiskCopies states = optimizer_copies(plan.train.back().program).disk,
                     weights = parameter_copies(plan.train.back().program).disk;
    out += row(
        "on the disk",
        human_bytes(plan.memory.disk_bytes) + " in " + facts::offload_folder_of(plan.recipe) +
            (plan.disk_free_bytes ? ", where " + human_bytes(*plan.disk_free_bytes) + " are free"
                                  : "") +
            "; a step reads " + human_bytes(states.from + weights.from) + " and writes " +
            human_bytes(states.to + weights.to) +
            (plan.rates && plan.rates->disk_bytes_per_s <= 0 ? " (rate not measured)" : ""));
  }
  out += row("total", human_bytes(plan.memory.total_bytes()) + " of " +
                          human_bytes(plan.memory.budget_bytes));
  const CheckpointSize saved = checkpoint_size(plan);
  out += "checkpoints, on the disk\n";
  out += row("each", human_bytes(saved.each_bytes));
  out += row("most at a time",
             human_bytes(saved.most_bytes()) + ": " + std::to_string(saved.most) +
                 " (checkpoint.keep_last " + std::to_string(plan.recipe.checkpoint.keep_last) +
                 (plan.eval_samples > 0 ? ", best" : "") + " and the one being written)");
  if (const auto exchanges = exchanges_of(plan); !exchanges.empty()) {
    const std::int64_t groups = plan.zero_stage() > 0 ? plan.mesh.data / plan.mesh.shard : 1;
    out += "between ranks, in a step (" + recipe::write_value(plan.mode) +
           (groups > 1 ? ", " + std::to_string(groups) + " groups of " +
                             std::to_string(plan.mesh.shard) + " ranks"
                       : "") +
           (plan.mesh.experts > 1 ? ", experts of " + std::to_string(plan.mesh.experts) + " ranks"
                                  : "") +
           ")\n";
    for (const Exchange& e : exchanges)
      out += row(e.name,
                 human_bytes(e.bytes) +
                     (e.collectives > 1 ? " in " + std::to_string(e.collectives) + " pieces" : "") +
                     (plan.mode == recipe::ParallelMode::dp && plan.mesh.data > 2
                          ? ", for each of " + std::to_string(plan.mesh.data - 1) + " ranks"
                          : ""));
    if (const HostTraffic traffic = host_traffic(plan); traffic.hosts > 1)
      out += row("a host of " + std::to_string(traffic.hosts), describe(traffic, plan.network));
    if (plan.assumed_link_bytes_per_s > 0)
      out += row("links",
                 "not measured (trainx doctor measures this machine's): the time below takes " +
                     human_bytes(static_cast<std::int64_t>(plan.assumed_link_bytes_per_s)) +
                     "/s, " +
                     (plan.rates_are_estimated
                          ? "a guess: the share of its data sheet that NVLink reached on an H100"
                          : "what collectives have beside products over NVLink"));
    else if (plan.rates && plan.rates->link_bytes_per_s <= 0)
      out += row(
          "links",
          "not measured (trainx doctor measures this machine's): the time below leaves them out");
  }
  if (plan.time) {
    const auto& t = *plan.time;
    out += plan.rates_are_estimated
               ? "time, estimated from data sheets, by the shares of them measured on an H200\n"
               : "time, predicted from measured rates\n";
    const bool unknown_copies = plan.memory.host_bytes > 0 && plan.rates->host_bytes_per_s <= 0,
               known_updates = plan.rates->host_update_bytes_per_s > 0;
    out += row("step", fixed(t.step_s * 1e3, 1) + " ms, " +
                           human_count(static_cast<double>(plan.tokens_per_step) / t.step_s) +
                           " tokens/s" +
                           (!unknown_copies ? ""
                            : offloads_optimizer(plan) && !known_updates
                                ? ", assuming that host copies and updates take no longer"
                                : ", assuming that host copies take no longer"));
    out += row("matrix products", fixed(t.gemm_s * 1e3, 1) + " ms" + describe_fp8_rate(plan));
    out += row("attention", fixed(t.attention_s * 1e3, 1) + " ms");
    out += row("memory traffic", fixed(t.memory_s * 1e3, 1) + " ms");
    if (t.measured_s > 0)
      out += row("modules of your own",
                 fixed(t.measured_s * 1e3, 1) + " ms, measured: one micro-batch on this GPU");
    const auto busy = [&](program::Lane lane) { return t.busy_s[static_cast<std::size_t>(lane)]; };
    // then what the GPU does not compute in is the host's time to launch
    const bool launched_one_by_one = plan.rates->host_kernel_s > 0;
    const double computing_s = launched_one_by_one ? t.step_s : busy(program::Lane::compute);
    if (const double rest = computing_s - t.gemm_s - t.attention_s - t.memory_s - t.measured_s;
        rest > 0)
      out += row("starting kernels", fixed(rest * 1e3, 1) + " ms");
    if (const double waits = t.step_s - computing_s; waits > 5e-5)
      out += row("waiting", fixed(waits * 1e3, 1) + " ms, for copies and collectives");
    if (plan.memory.host_bytes > 0 && plan.rates->host_bytes_per_s > 0)
      out += row("copies to the host", fixed(busy(program::Lane::copy_out) * 1e3, 1) + " ms out, " +
                                           fixed(busy(program::Lane::copy_in) * 1e3, 1) +
                                           " ms back, beside the computation");
    if (plan.memory.disk_bytes > 0 && plan.rates->disk_bytes_per_s > 0)
      out += row("transfers with the disk",
                 fixed(busy(program::Lane::disk) * 1e3, 1) + " ms at " +
                     human_bytes(static_cast<std::int64_t>(plan.rates->disk_bytes_per_s)) +
                     "/s, in part beside the computation");
    if (offloads_optimizer(plan) && (known_updates || !unknown_copies))
      out +=
          row("updates on the host",
              fixed(busy(program::Lane::host) * 1e3, 1) +
                  (known_updates
                       ? " ms at " +
                             human_bytes(
                                 static_cast<std::int64_t>(plan.rates->host_update_bytes_per_s)) +
                             "/s of the CPU's memory"
                       : " ms, if the CPU's memory is as fast as the copies: it was not measured"));
    out += row("bound by", t.bottleneck);
  }
  if (plan.on_gpu) {
    const ExpectedKernels expected =
        expected_kernels(plan, plan.train.back().graph, plan.train.back().graph.target_rows);
    out += "kernels expected in each step, compared with those that run\n";
    out += row("fused attention", expected.attention == AttentionKind::math
                                      ? "none: its products are among the others"
                                      : std::to_string(expected.attention_forward) + " forward, " +
                                            std::to_string(expected.attention_backward) +
                                            " backward");
    out += row("matrix products",
               std::to_string(expected.matrix_products) +
                   (expected.products_recomputed ? " and those that are recomputed" : "") +
                   (expected.fp8_products > 0
                        ? ", " + std::to_string(expected.fp8_products) + " of them in fp8"
                        : ""));
    if (expected.fp8_casts > 0) out += row("casts to fp8", std::to_string(expected.fp8_casts));
    out += row("norms recomputed", std::to_string(expected.norms_recomputed));
    if (expected.update_launches > 0)
      out += row("updates in backward",
                 std::to_string(expected.update_launches) + " launches of the optimizer");
    if (expected.offloaded_bytes > 0)
      out += row("copied to the host",
                 "at least " + human_bytes(expected.offloaded_bytes) + ", and back");
    if (expected.host_updates > 0)
      out += row("updates on the host",
                 std::to_string(expected.host_updates) + ", of gradients of " +
                     human_bytes(expected.gradients_out_bytes) +
                     (expected.gradients_rounded > 0 ? " in bf16" : "") +
                     (expected.weights_back_bytes > 0 ? ", which come back as weights of " +
                                                            human_bytes(expected.weights_back_bytes)
                                                      : ""));
    if (expected.parameters_in_bytes > 0)
      out += row("weights from the host",
                 "at least " + human_bytes(expected.parameters_in_bytes) + " in" +
                     (expected.parameters_out_bytes > 0
                          ? ", " + human_bytes(expected.parameters_out_bytes) + " back"
                          : ""));
    out += row("exact weights",
               expected.weights == "Fp32Weights"    ? "fp32 weights"
               : expected.weights == "SplitWeights" ? "bf16 weights and their low 16 bits"
               : expected.weights == "Bf16Weights"  ? "bf16 weights alone"
               : expected.weights == "StochasticWeights"
                   ? "bf16 weights alone, rounded stochastically"
               : expected.weights == "HalfWeights" ? "fp32 master beside fp16 weights"
                                                   : "fp32 master beside bf16 weights");
  }
  out += "program\n";
  if (plan.row_lengths.size() > 1) {
    std::string lengths;
    for (const std::int64_t l : plan.row_lengths)
      lengths += (lengths.empty() ? "" : ", ") + std::to_string(l);
    out += row("row lengths", lengths +
                                  ": one program each, in one arena; a step uses the shortest that "
                                  "fits its longest sample");
  }
  out += row("instructions", std::to_string(instructions_of(plan.train.back().program)) + " over " +
                                 std::to_string(plan.train.back().program.buffers.size()) +
                                 " buffers, checked against the sequential reference");
  if (const auto& p = plan.train.back().program; p.repeats > 0)
    out += row("micro-steps", "micro-step " + std::to_string(p.repeated_micro) +
                                  " of the program stands for " + std::to_string(p.repeats) +
                                  " more like it");
  if (with_program)
    out += program::print(plan.train.back().program, &plan.train.back().graph);
  else
    out += row("", "(--program prints it)");
  for (const auto& note : plan.notes) out += "note: " + note + "\n";
  return out;
}

nlohmann::json to_json(const RunPlan& plan, bool with_program) {
  nlohmann::json j;
  j["global_batch_size"] = plan.batch.global_batch_size;
  j["micro_batch_size"] = plan.batch.micro_batch_size;
  j["grad_accum_steps"] = plan.batch.grad_accum_steps;
  j["world_size"] = plan.mesh.data;
  j["row_lengths"] = plan.row_lengths;
  j["total_steps"] = plan.total_steps;
  j["tokens_per_step"] = plan.tokens_per_step;
  j["learning_rate"] = {{"schedule", recipe::alternative_name(plan.recipe.schedule.course)},
                        {"warmup_steps", plan.schedule.warmup},
                        {"first", plan.lr_table.front()},
                        {"highest", *std::ranges::max_element(plan.lr_table)},
                        {"last", plan.lr_table.back()}};
  j["parameters"] = parameter_count(plan);
  if (!plan.recipe.optimizer.groups.empty())
    j["trained_parameters"] = trained_parameter_count(plan);
  if (const double active = active_parameter_count(plan); active < parameter_count(plan))
    j["active_parameters"] = active;
  if (const auto experts = expert_cost(plan)) j["experts"] = to_json(*experts);
  j["flops_per_step"] = step_flops(plan.train.back());
  j["compute"] = name_of(plan.compute);
  if (const std::string fp8 = describe_products(plan); !fp8.empty()) j["products"] = fp8;
  if (!std::holds_alternative<architectures::CustomDims>(plan.dims))
    j["attention"] = describe_attention(plan);
  if (const auto& evaluate = plan.evaluate.back(); evaluate.graph.stored)
    j["evaluation"] = {{"compute", name_of(evaluate.graph.compute)},
                       {"cast_bytes", cast_bytes(evaluate.program)},
                       {"activation_bytes", activation_bytes(evaluate.program)}};
  j["arena_bytes"] = plan.memory.arena_bytes;
  j["library_bytes"] = plan.memory.library_bytes;
  j["process_bytes"] = plan.memory.process_bytes;
  j["host_bytes"] = plan.memory.host_bytes;
  j["beside_host_bytes"] = plan.memory.beside_host_bytes;
  j["offloaded_bytes"] = offloaded_bytes(plan.train.back().program);
  for (const auto& [name, bytes] : plan.memory.on_host)
    j["on_host"].push_back({{"category", name}, {"bytes", bytes}});
  if (const OptimizerCopies copies = optimizer_copies(plan.train.back().program);
      copies.gradients_out > 0)
    j["optimizer_copies"] = {{"gradients_out", copies.gradients_out},
                             {"weights_back", copies.weights_back},
                             {"from_disk", copies.disk.from},
                             {"to_disk", copies.disk.to}};
  if (const ParameterCopies copies = parameter_copies(plan.train.back().program); copies.in > 0)
    j["parameter_copies"] = {{"in", copies.in},
                             {"out", copies.out},
                             {"from_disk", copies.disk.from},
                             {"to_disk", copies.disk.to}};
  if (plan.memory.disk_bytes > 0) j["disk_bytes"] = plan.memory.disk_bytes;
  if (offloads_optimizer(plan))
    j["optimizer_groups"] = {
        {"all", plan.train.back().graph.groups.size()},
        {"on_device", plan.groups_on_device},
        {"on_disk", std::ranges::count(optimizer_locations(plan, plan.train.back().graph.groups),
                                       passes::OptimizerLocation::disk)}};
  j["total_bytes"] = plan.memory.total_bytes();
  j["budget_bytes"] = plan.memory.budget_bytes;
  for (const auto& [name, bytes] : saved_by_levers(plan))
    j["saved"].push_back({{"by", name}, {"bytes", bytes}});
  for (const auto& [name, bytes] : plan.memory.categories)
    j["memory"].push_back({{"category", name}, {"bytes", bytes}});
  if (plan.time)
    j["time"] = {
        {"step_ms", plan.time->step_s * 1e3},
        {"tokens_per_second", static_cast<double>(plan.tokens_per_step) / plan.time->step_s},
        {"bottleneck", plan.time->bottleneck},
        {"gemm_ms", plan.time->gemm_s * 1e3},
        {"attention_ms", plan.time->attention_s * 1e3},
        {"memory_ms", plan.time->memory_s * 1e3},
        {"measured_ms", plan.time->measured_s * 1e3},
        {"host_ms", plan.time->busy_s[static_cast<std::size_t>(program::Lane::host)] * 1e3},
        {"disk_ms", plan.time->busy_s[static_cast<std::size_t>(program::Lane::disk)] * 1e3}};
  if (plan.time) j["rates"] = plan.rates_are_estimated ? "estimated" : "measured";
  j["mode"] = recipe::write_value(plan.mode);
  if (plan.zero_stage() > 0) j["shard_ranks"] = plan.mesh.shard;
  if (plan.mesh.experts > 1) j["expert_ranks"] = plan.mesh.experts;
  for (const Exchange& e : exchanges_of(plan))
    j["exchanges"].push_back(
        {{"name", e.name}, {"bytes", e.bytes}, {"collectives", e.collectives}});
  if (const HostTraffic traffic = host_traffic(plan); traffic.hosts > 1)
    j["host_traffic"] = to_json(traffic, plan.network);
  if (plan.assumed_link_bytes_per_s > 0)
    j["assumed_link_bytes_per_s"] = plan.assumed_link_bytes_per_s;
  const CheckpointSize saved = checkpoint_size(plan);
  j["checkpoints"] = {
      {"each_bytes", saved.each_bytes}, {"most", saved.most}, {"most_bytes", saved.most_bytes()}};
  j["fingerprint"] = fingerprint(plan);
  j["instructions"] = instructions_of(plan.train.back().program);
  if (with_program)
    j["program"] = program::print(plan.train.back().program, &plan.train.back().graph);
  j["choices"] = plan.choices;
  j["notes"] = plan.notes;
  return j;
}

}  // namespace trainx::plan
