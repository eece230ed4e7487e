#include "plan/memory_plan.hpp"
#include "core/file_writer.hpp"
#include "architectures/active_parameters.hpp"
#include "hardware/hardware.hpp"
#include "plan/choose/offload.hpp"
#include "plan/custom_dims.hpp"
#include "plan/own_rule.hpp"
#include "plan/rank_groups.hpp"
#include "plan/shared_weights.hpp"
#include "program/decode.hpp"
#include "program/frozen.hpp"
#include <algorithm>

namespace trainx::plan {

using program::Role;

namespace {

bool is_custom(const Draft& plan) {
  return std::holds_alternative<architectures::CustomDims>(plan.dims);
}

std::int64_t context_bytes_of(const Draft& plan) {
  const hardware::ProcessBytes& of = hardware::process_bytes();
  const AttentionKind kind = plan.recipe.model.attention;
  if (kind == AttentionKind::math || is_custom(plan)) return of.context + of.torch_math;
  const auto* rule = std::get_if<options::OwnOptimizerOptions>(&plan.recipe.optimizer.options);
  const bool by_torch = kind == AttentionKind::flash || kind == AttentionKind::efficient ||
                        (rule && rule->on_tensors);
  return of.context + (by_torch ? of.torch_attention : 0);
}

// Measured: a worker of a tiny model takes 131 MiB (LibTorch's libraries and thread stacks).
std::int64_t process_bytes_of(const Draft& plan, const Programs& programs) {
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
  // oneDNN's compiled products of 16-bit operands, of the few numbers of rows that experts have
  const bool experts = size_of(plan.compute) == 2 && architectures::experts_of(plan.dims) > 0;
  const std::int64_t kept_products = experts ? std::int64_t{12} << 20 : 0;
  return base + kept_products + written_behind +
         std::max(copies * largest_group, largest_group + constructed) +
         (plan.recipe.data.prefetch + plan.recipe.data.workers) * batch;
}

/// Of texts that the model writes during training (generate.every), on the host: exact weights once
/// more and what model::Decoder takes.
std::int64_t generation_bytes_of(const Draft& plan) {
  if (!plan.recipe.generate.every || !architectures::generates(plan.dims)) return 0;
  const std::int64_t length =
      std::min(plan.recipe.data.sequence_length, architectures::max_positions(plan.dims));
  const program::ModelGraph graph =
      architectures::model_graph(architectures::for_evaluation(plan.dims), 1, length, DType::f32,
                                 architectures::GraphOptions::on_cpu(plan.threads));
  std::int64_t elements = 4 * architectures::vocab_size(plan.dims);  // to draw a token from
  for (const auto& g : graph.groups) elements += g.elements;
  return 4 * elements + program::decode_bytes(graph, length);
}

/// Of a checkpoint that is written beside training: a copy of the residents, or where they lie in
/// shards this rank's share of the tensors as they are saved. Beside a GPU that has all residents
/// but frozen weights the copy lies where they were loaded to. While checkpoint.asynchronous is
/// auto it gives way: there is none.
std::int64_t snapshot_bytes_of(const Draft& plan, const Programs& programs) {
  if (!plan.writes_beside_training()) return 0;
  const PlacedProgram& placed = programs.train.front();
  std::int64_t residents = 0, on_host = 0, saved = 0, largest = 0;
  for (const auto& b : placed.program.buffers) {
    if (!b.resident || is_derived(b)) continue;
    residents += b.bytes();
    if (b.space == program::Space::host && !is_frozen(placed.graph, b)) on_host += b.bytes();
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
  return saved / plan.mesh.world + largest;
}

/// Of communicators: of all ranks, and of each group that programs name.
std::int64_t between_gpus_bytes_of(const Draft& plan, const Programs& programs) {
  if (!plan.on_gpu || plan.mesh.world <= 1) return 0;
  const hardware::ProcessBytes& bytes = hardware::process_bytes();
  return (bytes.communicator + (plan.zero_stage() > 0 ? bytes.more_processors : 0)) *
         (1 + std::ssize(rank_groups_of(programs)));
}

/// Whether the host does not hold the resident's copy: frozen weights beside an adapter are moved
/// to the GPU as they are drawn or loaded (ResidentState), and only texts during training read them
/// again.
bool is_left_on_device(const Draft& plan, const program::ModelGraph& graph,
                       const program::Buffer& b) {
  return plan.adapter && !plan.recipe.generate.every && b.role == Role::parameter &&
         !graph.groups[static_cast<std::size_t>(b.index)].training.trained;
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
      {weights_on_host_category, weights},
      {"weights on their way", of(Role::parameter) - weights},
      {"gradients on the host", of(Role::gradient)}};
  for (const auto& [name, bytes] : std::vector(out)) all -= bytes;
  out.emplace_back("scalars and gaps on the host", all);
  std::erase_if(out, [](const auto& category) { return category.second == 0; });
  return out;
}

}  // namespace

namespace {

/// Counts weights that the ranks of a host hold once as equal shares of those ranks.
void share(const Draft& plan, const Programs& programs, MemoryPlan& m) {
  if (plan.local_ranks <= 1) return;
  m.shared_bytes = shared_bytes(plan, programs.train.front());
  const std::int64_t of_others = m.shared_bytes -
                                 (m.shared_bytes + plan.local_ranks - 1) / plan.local_ranks;
  (plan.on_gpu ? m.on_host_of_other_ranks_bytes : m.of_other_ranks_bytes) = of_others;
}

}  // namespace

std::int64_t largest_weights_on_disk(const program::StepProgram& p) {
  std::int64_t largest = 0;
  for (const auto& b : p.buffers)
    if (b.resident && b.space == program::Space::disk && b.role == Role::parameter)
      largest = std::max(largest, b.bytes());
  return largest;
}

MemoryPlan plan_memory_totals(const Draft& plan, const Programs& programs) {
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
    m.library_bytes += own_rule_memory(plan, programs).total();
    m.process_bytes = context_bytes_of(plan) + between_gpus_bytes_of(plan, programs);
    if (offloads_optimizer(plan) || offloads_weights(plan) || plan.writes_beside_training()) {
      for (const auto& b : programs.train.front().program.buffers)
        if (b.resident && !is_derived(b) && b.space == program::Space::device &&
            !is_left_on_device(plan, programs.train.front().graph, b))
          m.beside_host_bytes += b.bytes();
      m.beside_host_bytes += snapshot_bytes_of(plan, programs) + window;
    }
  } else {  // the host's memory is the same
    m.process_bytes = process_bytes_of(plan, programs) + m.host_bytes +
                      snapshot_bytes_of(plan, programs) + generation_bytes_of(plan) + window;
  }
  share(plan, programs, m);
  return m;
}

MemoryPlan plan_memory_budget(const Draft& plan, const Programs& programs) {
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
  const std::int64_t rule = own_rule_memory(plan, programs).total(),
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
    add("NCCL", between_gpus_bytes_of(plan, programs));
    return m;
  }
  m.categories.emplace_back("process", process_bytes_of(plan, programs));
  m.categories.insert(m.categories.end(), m.on_host.begin(), m.on_host.end());
  add("checkpoint on its way to disk", snapshot_bytes_of(plan, programs));
  add("texts during training", generation_bytes_of(plan));
  add("weights as they are loaded and saved", largest_weights_on_disk(p));
  if (m.of_other_ranks_bytes > 0)
    m.categories.emplace_back("shared weights, of other ranks", -m.of_other_ranks_bytes);
  return m;
}

// A run that was planned to take 123 of 125 GiB was ended by the system, one of 117 was not (one
// H200, GPT-2s of 8.3B and 7.9B parameters).
std::int64_t plannable_host_bytes(const Draft& plan) { return plan.host_memory_bytes / 20 * 19; }

std::int64_t host_need(const MemoryPlan& memory) {
  return memory.host_bytes + memory.beside_host_bytes - memory.on_host_of_other_ranks_bytes;
}

}  // namespace trainx::plan
