#include "train/cuda/optimizer_launches.hpp"
#include "optim/adagrad.hpp"
#include "optim/adam.hpp"
#include "optim/adamw_anyprecision.hpp"
#include "optim/lion.hpp"
#include "program/operations.hpp"

namespace trainx::train {

using namespace program;
using gpu::require;

namespace {

kernels::AdamWSettings settings_of(const spec::AdamWOptions& o) { return {o.beta1, o.beta2, o.eps, o.weight_decay, {}}; }
kernels::SgdSettings settings_of(const spec::SgdOptions& o) { return {o.momentum, o.nesterov, o.weight_decay, {}}; }
using optim::settings_of;

using kernels::adagrad, kernels::adam, kernels::adamw, kernels::lion, kernels::sgd;
cudaError_t start(const UpdateLaunch& u, const kernels::AdamWSettings& s, cudaStream_t stream) { return adamw(u.table, u.kind, u.scalars, s, stream); }
cudaError_t start(const UpdateLaunch& u, const kernels::SgdSettings& s, cudaStream_t stream) { return sgd(u.table, u.kind, u.scalars, s, stream); }
cudaError_t start(const UpdateLaunch& u, const kernels::AdamSettings& s, cudaStream_t stream) { return adam(u.table, u.kind, u.scalars, s, stream); }
cudaError_t start(const UpdateLaunch& u, const kernels::AdagradSettings& s, cudaStream_t stream) { return adagrad(u.table, u.kind, u.scalars, s, stream); }
cudaError_t start(const UpdateLaunch& u, const kernels::LionSettings& s, cudaStream_t stream) { return lion(u.table, u.kind, u.scalars, s, stream); }
cudaError_t start(const UpdateLaunch& u, const kernels::AnyPrecisionSettings& s, cudaStream_t stream) { return adamw_anyprecision(u.table, u.kind, u.scalars, s, stream); }

}  // namespace

UpdateLaunch update_launch(const PlacedMemory& memory, DeviceTables& tables, const std::vector<const Instruction*>& run, const spec::OptimizerOptions& options,
                           const kernels::ScaleSettings& scale) {
  const ModelGraph& graph = memory.placed().graph;
  const bool low = graph.compute == DType::bf16;
  UpdateLaunch update;
  update.settings = std::visit([&](const auto& o) -> decltype(update.settings) {
    auto settings = settings_of(o);
    settings.scale = scale;
    return settings;
  }, options);
  const auto states = std::visit([](const auto& o) { return spec::states(o); }, options);
  const Instruction& first = *run.front();
  const Use& table = use_of(first, UpdateSlot::lr_table);
  update.scalars = {memory.find<double>(first, UpdateSlot::norm2), memory.find<double>(first, UpdateSlot::target_count), memory.find<std::int64_t>(first, UpdateSlot::applied),
                    memory.find<double>(first, UpdateSlot::lr_table), (table.range.end - table.range.begin) / static_cast<std::int64_t>(sizeof(double))};
  const Use* master = find_use(first, UpdateSlot::master);
  const GroupSpec& group_of_first = graph.groups[static_cast<std::size_t>(first.block)];
  update.kind = !low ? kernels::WeightKind::fp32
      : !master ? kernels::WeightKind::bf16
      : master->range.end - master->range.begin == group_of_first.elements * 4 ? kernels::WeightKind::bf16_with_master : kernels::WeightKind::bf16_split;
  std::vector<kernels::UpdateRange> ranges;
  std::vector<std::int64_t> sizes;
  for (const Instruction* i : run) {
    std::byte* const parameter = memory.address(use_of(*i, UpdateSlot::parameter));
    std::byte* const exact = memory.find<std::byte>(*i, UpdateSlot::master);
    const std::int64_t width = low ? 2 : 4, master_width = update.kind == kernels::WeightKind::bf16_with_master ? 4 : 2;
    const GroupSpec& group = graph.groups[static_cast<std::size_t>(i->block)];
    std::vector<StateLayout> layouts;
    for (const StateSpec& s : states) layouts.push_back(state_layout(s, group));
    for (std::size_t k = 0; k < group.parameters.size(); ++k) {
      const ParameterSpec& p = group.parameters[k];
      kernels::UpdateRange range{memory.find<float>(*i, UpdateSlot::gradient) + p.offset, parameter + p.offset * width, exact ? exact + p.offset * master_width : nullptr};
      for (std::size_t s = 0; s < states.size(); ++s)
        if (layouts[s].offsets[k] != none)
          range.states[s] = memory.address(use_of(*i, UpdateSlot::first_state + static_cast<Slot>(s))) + layouts[s].offsets[k] * size_of(states[s].dtype);
      range.elements = p.elements();
      range.decays = p.decay;
      ranges.push_back(range);
      sizes.push_back(p.elements());
    }
  }
  const auto chunks = kernels::chunks_of(sizes);
  update.table = {tables.copy(ranges), tables.copy(chunks), static_cast<std::int64_t>(chunks.size())};
  return update;
}

void UpdateLaunch::launch(cudaStream_t stream) const {
  require(std::visit([&](const auto& s) { return start(*this, s, stream); }, settings), "the optimizer's update");
}

// The tensors of the groups alone: what lies between them is nobody's.
NormLaunch norm_launch(const PlacedMemory& memory, DeviceTables& tables, const Instruction& i) {
  const ModelGraph& graph = memory.placed().graph;
  std::vector<kernels::NormRange> ranges;
  std::vector<std::int64_t> sizes;
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    if (const float* gradient = memory.find<float>(i, NormSlot::first_gradient + static_cast<Slot>(g)))
      for (const ParameterSpec& p : graph.groups[g].parameters) {
        ranges.push_back({gradient + p.offset, p.elements()});
        sizes.push_back(p.elements());
      }
  const auto chunks = kernels::chunks_of(sizes);
  NormLaunch norm;
  norm.table = {tables.copy(ranges), tables.copy(chunks), static_cast<std::int64_t>(chunks.size())};
  norm.partial = reinterpret_cast<double*>(tables.take(static_cast<std::int64_t>(chunks.size() * sizeof(double))));
  norm.norm2 = memory.find<double>(i, NormSlot::norm2);
  return norm;
}

void NormLaunch::launch(cudaStream_t stream) const { require(kernels::squared_norm(table, partial, norm2, stream), "norm of the gradients"); }

}  // namespace trainx::train
