#include "plan/memory_plan.hpp"
#include "core/file_writer.hpp"
#include "hardware/hardware.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/custom_dims.hpp"
#include "plan/largest_block.hpp"
#include "plan/limits.hpp"
#include "plan/own_rule.hpp"
#include "program/decode.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <ranges>

namespace trainx::plan {

using program::Role;

namespace {

bool is_custom(const Decisions& plan) {
  return std::holds_alternative<architectures::CustomDims>(plan.dims);
}

std::int64_t context_bytes_of(const Decisions& plan) {
  const hardware::ProcessBytes& of = hardware::process_bytes();
  const AttentionKind kind = plan.recipe.model.attention;
  if (kind == AttentionKind::math || is_custom(plan)) return of.context + of.torch_math;
  const auto* rule = std::get_if<options::OwnOptimizerOptions>(&plan.recipe.optimizer.options);
  const bool by_torch = kind == AttentionKind::flash || kind == AttentionKind::efficient ||
                        (rule && rule->on_tensors);
  return of.context + (by_torch ? of.torch_attention : 0);
}

// Measured: a worker of a tiny model takes 131 MiB (LibTorch's libraries and thread stacks).
std::int64_t process_bytes_of(const Decisions& plan, const Programs& programs) {
  constexpr std::int64_t base = std::int64_t{160} << 20;
  // constructed: weights of a user's modules before the arena has them
  std::int64_t largest_group = 0, batch = 0, constructed = 0, saved = 0;
  for (const auto& g : programs.train.back().graph.groups) {
    largest_group = std::max(largest_group, g.elements * 4);
    if (is_custom(plan)) constructed += g.elements * 4;
  }
  for (const auto& b : programs.train.back().graph.batch) batch += b.bytes();
  // while saving; shards are gathered first
  const std::int64_t copies = plan.in_parts() ? 4 : 2;
  // of the optimizer's file, which is the larger one where there are several states
  std::int64_t of_element = 0;
  for (const auto& state : plan.update.states) of_element += size_of(state.dtype);
  for (const auto& g : programs.train.back().graph.groups)
    saved += g.elements * std::max<std::int64_t>(4, g.training.trained ? of_element : 0);
  const std::int64_t written_behind =
      saved >= FileWriter::large_bytes ? static_cast<std::int64_t>(WriteBehind::memory_bytes) : 0;
  return base + written_behind + std::max(copies * largest_group, largest_group + constructed) +
         (plan.recipe.data.prefetch + plan.recipe.data.workers) * batch;
}

/// Of texts that the model writes during training (generate.every), on the host: exact weights once
/// more and what model::Decoder takes.
std::int64_t generation_bytes_of(const Decisions& plan) {
  if (!plan.recipe.generate.every || !architectures::generates(plan.dims)) return 0;
  const std::int64_t length =
      std::min(plan.recipe.data.sequence_length, architectures::max_positions(plan.dims));
  const program::ModelGraph graph = architectures::model_graph(
      architectures::for_evaluation(plan.dims), 1, length, DType::f32, plan.threads);
  std::int64_t elements = 4 * architectures::vocab_size(plan.dims);  // to draw a token from
  for (const auto& g : graph.groups) elements += g.elements;
  return 4 * elements + program::decode_bytes(graph, length);
}

/// Of a checkpoint that is written beside training: a copy of the residents, or where they lie in
/// shards this rank's share of the tensors as they are saved. Beside a GPU that has all residents
/// the copy lies where they were loaded to. While checkpoint.asynchronous is auto it gives way:
/// there is none.
std::int64_t snapshot_bytes_of(const Decisions& plan, const Programs& programs) {
  if (!plan.writes_beside_training()) return 0;
  const PlacedProgram& placed = programs.train.front();
  std::int64_t residents = 0, on_host = 0, saved = 0, largest = 0;
  for (const auto& b : placed.program.buffers) {
    if (!b.resident) continue;
    residents += b.bytes();
    if (b.space == program::Space::host) on_host += b.bytes();
  }
  if (!plan.in_parts()) return plan.on_gpu && on_host == 0 ? 0 : residents;
  const auto count = [&](std::int64_t bytes) {
    saved += bytes;
    largest = std::max(largest, bytes);
  };
  for (const auto& group : placed.graph.groups)
    for (const auto& p : group.parameters) {
      count(p.tensor_elements() * 4);
      if (!group.training.trained) continue;
      // those of other dimensions are smaller
      for (const auto& state : plan.update.states)
        count(p.tensor_elements() * size_of(state.dtype));
    }
  // whoever has the fewest bytes so far takes the next tensor
  return saved / plan.mesh.data + largest;
}

/// Of communicators: among shards and among replicas beside that of all, where shards lie in
/// groups.
std::int64_t between_gpus_bytes_of(const Decisions& plan) {
  if (!plan.on_gpu || plan.mesh.data <= 1) return 0;
  const bool in_groups = plan.mesh.has_replicas(), of_experts = plan.mesh.has_expert_replicas();
  const hardware::ProcessBytes& bytes = hardware::process_bytes();
  return (bytes.communicator + (plan.zero_stage() > 0 ? bytes.more_processors : 0)) *
         (1 + (in_groups ? 2 : 0) + (of_experts ? 2 : 0));
}

/// What the host holds of a program where it is fullest; of that its residents.
std::vector<std::pair<std::string, std::int64_t>> on_host(const program::StepProgram& p,
                                                          std::int64_t states, std::int64_t master,
                                                          std::int64_t weights, std::int64_t all) {
  if (all == 0) return {};
  const auto peak = program::peak_use(p, program::Space::host);
  const auto of = [&](Role role) { return peak.of(role); };
  std::vector<std::pair<std::string, std::int64_t>> out{
      {"offloaded activations", of(Role::value) + of(Role::saved)},
      {"optimizer state on the host", states},
      {"master weights on the host", master},
      {"optimizer state on its way from and to the disk",
       of(Role::state) + of(Role::master) - states - master},
      {"weights on the host", weights},
      {"weights on their way", of(Role::parameter) - weights},
      {"gradients on the host", of(Role::gradient)}};
  for (const auto& [name, bytes] : std::vector(out)) all -= bytes;
  out.emplace_back("scalars and gaps on the host", all);
  std::erase_if(out, [](const auto& category) { return category.second == 0; });
  return out;
}

}  // namespace

std::int64_t largest_weights_on_disk(const program::StepProgram& p) {
  std::int64_t largest = 0;
  for (const auto& b : p.buffers)
    if (b.resident && b.space == program::Space::disk && b.role == Role::parameter)
      largest = std::max(largest, b.bytes());
  return largest;
}

MemoryPlan plan_memory_totals(const Decisions& plan, const Programs& programs) {
  const auto& p = programs.train.back().program;
  MemoryPlan m;
  for (const auto* list : {&programs.train, &programs.evaluate})
    for (const PlacedProgram& placed : *list) {
      const program::Placement& at = placed.placement;
      m.arena_bytes = std::max(m.arena_bytes, at.peak_of(program::Space::device));
      m.host_bytes = std::max(m.host_bytes, at.peak_of(program::Space::host));
      m.disk_bytes = std::max(m.disk_bytes, at.peak_of(program::Space::disk));
      m.library_bytes = std::max(m.library_bytes,
                                 placed.graph.library_bytes + at.peak_of(program::Space::library));
    }
  const std::int64_t window = largest_weights_on_disk(p);
  if (plan.on_gpu) {
    m.library_bytes += own_rule_memory(plan, programs.train.back().graph).total();
    m.process_bytes = context_bytes_of(plan) + between_gpus_bytes_of(plan);
    if (offloads_optimizer(plan) || offloads_weights(plan) || plan.writes_beside_training()) {
      for (const auto& b : programs.train.front().program.buffers)
        if (b.resident && b.space == program::Space::device) m.beside_host_bytes += b.bytes();
      m.beside_host_bytes += snapshot_bytes_of(plan, programs) + window;
    }
  } else {  // the host's memory is the same
    m.process_bytes = process_bytes_of(plan, programs) + m.host_bytes +
                      snapshot_bytes_of(plan, programs) + generation_bytes_of(plan) + window;
  }
  return m;
}

MemoryPlan plan_memory_budget(const Decisions& plan, const Programs& programs) {
  const auto& p = programs.train.back().program;
  const auto peak = program::peak_use(p);
  const auto of = [&](Role role) { return peak.of(role); };
  const auto on_host_of = [&](Role role) {
    std::int64_t bytes = 0;
    for (const auto& b : p.buffers)
      if (b.role == role && b.resident && b.space == program::Space::host) bytes += b.bytes();
    return bytes;
  };
  MemoryPlan m = plan_memory_totals(plan, programs);
  m.categories = {{"weights", of(Role::parameter)},
                  {"master weights", of(Role::master)},
                  {"gradients", of(Role::gradient)},
                  {"optimizer state", of(Role::state)},
                  {"activations", of(Role::value) + of(Role::saved)},
                  {"activation gradients", of(Role::value_gradient)},
                  {"scratch", of(Role::scratch) + of(Role::transit)},
                  {"batch and scalars", of(Role::batch) + peak.of_scalars()}};
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : m.categories) sum += bytes;
  const auto add = [&m](const char* name, std::int64_t bytes) {
    if (bytes > 0) m.categories.emplace_back(name, bytes);
  };
  const std::int64_t in_fp8 = of(Role::cast_weight);
  m.categories.emplace_back("alignment and gaps", m.arena_bytes - sum - in_fp8);
  add(cast_weights_category, in_fp8);
  const std::int64_t rule = own_rule_memory(plan, programs.train.back().graph).total(),
                     modules = plan.on_gpu && is_custom(plan)
                                   ? m.library_bytes - rule - architectures::module_workspace_bytes
                                   : 0;
  add("modules' own tensors", modules);
  add("optimizer's own tensors", rule);
  m.categories.emplace_back("library calls", m.library_bytes - modules - rule);
  m.on_host = on_host(p, on_host_of(Role::state), on_host_of(Role::master),
                      on_host_of(Role::parameter), m.host_bytes);
  if (plan.on_gpu) {
    m.categories.emplace_back("CUDA context and kernels", context_bytes_of(plan));
    add("NCCL", between_gpus_bytes_of(plan));
    return m;
  }
  m.categories.emplace_back("process", process_bytes_of(plan, programs));
  m.categories.insert(m.categories.end(), m.on_host.begin(), m.on_host.end());
  add("checkpoint on its way to disk", snapshot_bytes_of(plan, programs));
  add("texts during training", generation_bytes_of(plan));
  add("weights as they are loaded and saved", largest_weights_on_disk(p));
  return m;
}

namespace {

/// What the recipe could say otherwise, the cheapest first.
struct Levers {
  std::vector<recipe::ParallelMode> modes;
  std::vector<recipe::ParameterOffload> weights;
  std::vector<recipe::OptimizerOffload> optimizers;
  std::vector<recipe::ActivationOffload> places;
  std::vector<std::vector<RecomputeLevel>> levels;
  std::int64_t smallest_micro_batch = 1;
};

Levers levers_of(const Decisions& plan) {
  using recipe::ActivationOffload, recipe::OptimizerOffload, recipe::ParallelMode;
  Levers levers{{plan.mode},
                {plan.recipe.memory.parameter_offload},
                {plan.recipe.memory.optimizer_offload.where},
                {plan.recipe.memory.activation_offload},
                {*plan.recipe.memory.activation_checkpoint.value}};
  const bool in_backward = plan.recipe.optimizer.update_in_backward, custom = is_custom(plan);
  // shards and hosts do not go together with them
  const bool tensor_sums = plan.update.unit == program::Unit::tensor,
             on_host = levers.optimizers.front() != OptimizerOffload::none;
  for (const ParallelMode mode : {ParallelMode::zero1, ParallelMode::zero2, ParallelMode::zero3})
    if (!(offloads_weights(plan) && mode != ParallelMode::zero3) && plan.shares_batches() &&
        recipe::zero_stage(mode) > plan.zero_stage() && !in_backward && !(tensor_sums && on_host))
      levers.modes.push_back(mode);
  if (may_update_on_host(plan) && !(tensor_sums && plan.shares_batches()))
    levers.optimizers.push_back(OptimizerOffload::cpu);
  if (may_keep_weights_on_host(plan)) levers.weights.push_back(recipe::ParameterOffload::cpu);
  // On the host last, where that is other memory: copies take longer than recomputation.
  if (plan.on_gpu && levers.places.front() == ActivationOffload::none && !custom)
    levers.places.push_back(ActivationOffload::cpu);
  const RecomputeLevel least = *std::ranges::min_element(levers.levels.front());
  std::vector<RecomputeLevel> levels;
  for (const auto& [level, name] : enum_names(least)) levels.push_back(level);
  if (custom) levels = possible_levels(std::get<architectures::CustomDims>(plan.dims));
  for (const RecomputeLevel level : levels)
    if (level > least) levers.levels.push_back({level});
  if (in_backward) levers.smallest_micro_batch = plan.batch.micro_batch_size;
  return levers;
}

/// How `other` differs from the plan, as keys to write; "" where it does not.
std::string changes_of(const Decisions& other, const Decisions& plan) {
  std::vector<std::string> changes;
  if (other.mode != plan.mode)
    changes.push_back("parallel.mode " + recipe::write_value(other.mode));
  if (other.batch.micro_batch_size != plan.batch.micro_batch_size)
    changes.push_back("batch.micro_batch_size " + std::to_string(other.batch.micro_batch_size));
  const auto &memory = other.recipe.memory, &before = plan.recipe.memory;
  if (*memory.activation_checkpoint.value != *before.activation_checkpoint.value)
    changes.push_back("memory.activation_checkpoint " +
                      recipe::write_value(*memory.activation_checkpoint.value));
  if (memory.activation_offload != before.activation_offload)
    changes.push_back("memory.activation_offload " +
                      recipe::write_value(memory.activation_offload));
  if (memory.optimizer_offload.where != before.optimizer_offload.where)
    changes.push_back("memory.optimizer_offload " +
                      recipe::write_value(memory.optimizer_offload.where));
  if (memory.parameter_offload != before.parameter_offload)
    changes.push_back("memory.parameter_offload " + recipe::write_value(memory.parameter_offload));
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "" : " with ") + change;
  return text;
}

}  // namespace

bool may_update_on_host(const Decisions& plan) {
  const bool keeps_states = !plan.update.states.empty() || plan.master != program::Master::absent,
             parts_alone = plan.update.unit == program::Unit::tensor && plan.zero_stage() > 0;
  return plan.on_gpu &&
         plan.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::none &&
         keeps_states && !parts_alone && plan.mesh.experts == 1;
}

bool may_keep_weights_on_host(const Decisions& plan) {
  const bool held = plan.mode == recipe::ParallelMode::dp || plan.zero_stage() == 1 ||
                    plan.zero_stage() == 2;
  return plan.on_gpu && !offloads_weights(plan) && !held && plan.mesh.experts == 1;
}

// Where too many ways are left to try.
constexpr const char* could_fit =
    "lower batch.micro_batch_size, write memory.activation_checkpoint: full, take a smaller model "
    "or a larger budget";

std::string what_would_fit(const Decisions& plan, std::int64_t have) {
  if (plan.row_lengths.empty()) return "";  // nothing is trained: there is no batch to cut
  if (layers_of(plan.dims) > most_searched_layers) return could_fit;
  const Levers levers = levers_of(plan);
  const std::int64_t samples = plan.batch.micro_batch_size * plan.batch.grad_accum_steps;
  Decisions other = plan;
  other.searched = search_of(12'000);
  std::vector<std::int64_t> micros = plannable_micro_batch_sizes(plan, samples);
  std::erase_if(micros, [&](std::int64_t micro) {
    return micro > plan.batch.micro_batch_size || micro < levers.smallest_micro_batch;
  });
  for (const auto weights : levers.weights)  // on the host last of all
    for (const auto mode : levers.modes) {
      if (weights != levers.weights.front() &&
          (recipe::zero_stage(mode) == 1 || recipe::zero_stage(mode) == 2))
        continue;
      for (const auto optimizer : levers.optimizers)
        for (const auto place : levers.places) {
          auto levels = levers.levels;
          // Where activations wait elsewhere, the least to copy comes first.
          if (place != levers.places.front()) std::ranges::reverse(levels);
          set_mode(other, mode);
          if (plan.zero_stage() > 0) other.mesh = plan.mesh;  // shards lie where they are written
          other.recipe.memory.activation_offload = place;
          other.recipe.memory.optimizer_offload.where = optimizer;
          other.recipe.memory.parameter_offload = weights;
          std::int64_t bytes = 0;  // of what was tried last
          const auto fits = [&](std::int64_t micro, const auto& level) {
            other.batch.micro_batch_size = micro;
            // More micro-steps take no more memory.
            other.batch.grad_accum_steps = std::min<std::int64_t>(samples / micro, 2);
            other.recipe.memory.activation_checkpoint.value = level;
            const MemoryPlan memory =
                plan_memory_totals(other, plan_programs(other, Extent::bytes));
            const bool host_fits = !plan.on_gpu || host_budget(plan, 0) == 0 ||
                                   host_need(memory) <= host_budget(plan, 0);
            bytes = memory.total_bytes();
            return bytes <= have && host_fits;
          };
          // What the smallest micro-batch does not make fit, none does, but the one that is the
          // whole batch: gradients of several micro-steps are added up, which takes memory.
          const bool has_whole = micros.size() > 1 && micros.back() == samples;
          const auto may_fit = [&](const auto& level) {
            return !is_spent(other) &&
                   (fits(micros.front(), level) || (has_whole && fits(samples, level)));
          };
          const bool any_fits = !micros.empty() && std::ranges::any_of(levels, may_fit);
          if (is_spent(other)) return could_fit;
          if (!any_fits) continue;
          // The largest micro-batch that keeps the global batch.
          for (const std::int64_t micro : std::views::reverse(micros)) {
            for (const auto& level : levels) {
              if (is_spent(other)) return could_fit;
              if (!fits(micro, level)) continue;
              return changes_of(other, plan) + " would fit (" + human_bytes(bytes) +
                     "), and memory.fit: true " +
                     (mode == plan.mode ? "" : "with parallel.mode: auto ") + "chooses by itself";
            }
          }
        }
    }
  return "";
}

// A run that was planned to take 123 of 125 GiB was ended by the system, one of 117 was not (one
// H200, GPT-2s of 8.3B and 7.9B parameters).
std::int64_t plannable_host_bytes(const Decisions& plan) {
  return plan.host_memory_bytes / 20 * 19;
}

std::int64_t host_need(const MemoryPlan& memory) {
  return memory.host_bytes + memory.beside_host_bytes;
}

std::string what_needs_less_host_memory(const Decisions& plan, const MemoryPlan& memory) {
  const bool activations = plan.recipe.memory.activation_offload != recipe::ActivationOffload::none,
             optimizer = offloads_optimizer(plan);
  std::string text, rounded;
  if (optimizer && !rounds_gradients(plan)) {
    const auto gradients = std::ranges::find(memory.on_host, "gradients on the host",
                                             &std::pair<std::string, std::int64_t>::first);
    const std::int64_t half = gradients == memory.on_host.end() ? 0 : gradients->second / 2;
    if (half > 0 && host_need(memory) - half <= host_budget(plan, 0))
      rounded =
          "write memory.optimizer_offload.gradients: bf16, in which gradients take half as much "
          "there, ";
  }
  if (optimizer && !recipe::uses_disk(plan.recipe.memory.optimizer_offload.where))
    text =
        "write memory.optimizer_offload: cpu+disk, which keeps on a disk what memory has no room "
        "for, leave it out, ";
  else if (optimizer)
    text = "leave memory.optimizer_offload out, ";
  text = rounded + text;
  if (optimizer)
    text +=
        "or let more ranks on other machines share what the optimizer keeps (parallel.mode: zero1)";
  if (plan.on_gpu && plan.writes_beside_training())
    text += std::string(text.empty() ? "" : ", or ") +
            "write checkpoint.asynchronous: false, which pins no copy of what is saved";
  if (activations)
    text += std::string(text.empty() ? "" : "; ") +
            "recompute more (memory.activation_checkpoint), which leaves less to copy, or lower "
            "batch.micro_batch_size";
  if (offloads_weights(plan))
    text += std::string(text.empty() ? "" : "; ") +
            (weights_on_disk(plan) ? "" : "write memory.parameter_offload: disk, ") +
            "leave memory.parameter_offload out, or let more ranks share the weights "
            "(parallel.mode: zero3)";
  return text;
}

void require_fits(const Decisions& plan, const MemoryPlan& memory) {
  const std::int64_t need = memory.total_bytes(), have = memory.budget_bytes;
  if (plan.disk_free_bytes && memory.disk_bytes > *plan.disk_free_bytes) {
    const auto& o = plan.recipe.memory.optimizer_offload;
    const std::string key = recipe::uses_disk(o.where) ? "memory.optimizer_offload"
                                                       : "memory.parameter_offload";
    throw UserError(
        ExitCode::out_of_memory,
        key + ": the run needs " + human_bytes(memory.disk_bytes) + " on the disk and " +
            human_bytes(*plan.disk_free_bytes) + " are free" +
            (plan.mesh.data > 1 ? " for each rank" : "") +
            "; make room, name a folder on another disk (memory.optimizer_offload.folder)" +
            (o.where == recipe::OptimizerOffload::disk
                 ? ", or write where: cpu+disk, which fills the host's memory first"
                 : "") +
            (weights_on_disk(plan) ? ", or write memory.parameter_offload: cpu, which keeps "
                                     "weights in the host's memory"
                                   : ""));
  }
  if (const std::int64_t host_has = host_budget(plan, 0);
      plan.on_gpu && host_has > 0 && host_need(memory) > host_has) {
    std::string what;
    for (const auto& [name, bytes] : memory.on_host)
      what += (what.empty() ? "" : ", ") + name + " " + human_bytes(bytes);
    if (memory.beside_host_bytes > 0)
      what += std::string(what.empty() ? "" : ", ") +
              "weights as they are loaded and a checkpoint on its way to disk " +
              human_bytes(memory.beside_host_bytes);
    throw UserError(ExitCode::out_of_memory,
                    "memory: the run needs " + human_bytes(host_need(memory)) + " on the host (" +
                        what + ") and " +
                        (plan.recipe.memory.optimizer_offload.host_budget.is_auto()
                             ? "the machine has "
                             : "memory.optimizer_offload.host_budget is ") +
                        human_bytes(host_has) +
                        (plan.recipe.memory.optimizer_offload.host_budget.is_auto()
                             ? " for it, all but a twentieth; "
                             : "; ") +
                        what_needs_less_host_memory(plan, memory));
  }
  if (have <= 0 || need <= have) return;
  std::string remedy = what_would_fit(plan, have);
  if (remedy.empty() && !plan.row_lengths.empty()) {
    const LargestBlock block = largest_block(plan);
    const std::int64_t beside = memory.library_bytes + memory.process_bytes,
                       at_once = block.bytes + beside;
    remedy = "nothing in the recipe makes it fit: " + block.operation + " alone has " +
             human_bytes(block.bytes) + " in memory at once with batch.micro_batch_size " +
             std::to_string(block.micro_batch_size) +
             (at_once > have ? ", beside " + human_bytes(beside) +
                                   " that libraries take, and no block is cut; "
                             : "; ") +
             "take a smaller model or a larger budget";
  } else if (remedy.empty()) {
    remedy = "nothing in the recipe makes it fit; take a smaller model or a larger budget";
  }
  throw UserError(ExitCode::out_of_memory, "memory: the run needs " + human_bytes(need) +
                                               " and memory.budget is " + human_bytes(have) + ", " +
                                               human_bytes(need - have) + " too little; " + remedy);
}

}  // namespace trainx::plan
