#include "train/cuda/optimizer_launches.hpp"
#include "program/operations.hpp"

namespace trainx::train {

using namespace program;
using gpu::require;

namespace {

std::variant<kernels::AdamWSettings, kernels::SgdSettings> settings_of(const spec::OptimizerOptions& options, const kernels::ScaleSettings& scale) {
  if (const auto* o = std::get_if<spec::AdamWOptions>(&options)) return kernels::AdamWSettings{o->beta1, o->beta2, o->eps, o->weight_decay, scale};
  const auto& o = std::get<spec::SgdOptions>(options);
  return kernels::SgdSettings{o.momentum, o.nesterov, o.weight_decay, scale};
}

}  // namespace

UpdateLaunch update_launch(const PlacedMemory& memory, DeviceTables& tables, const std::vector<const Instruction*>& run, const spec::OptimizerOptions& options,
                           const kernels::ScaleSettings& scale) {
  const ModelGraph& graph = memory.placed().graph;
  const bool low = graph.compute == DType::bf16;
  UpdateLaunch update;
  update.settings = settings_of(options, scale);
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
    for (const ParameterSpec& p : graph.groups[static_cast<std::size_t>(i->block)].parameters) {
      kernels::UpdateRange range{memory.find<float>(*i, UpdateSlot::gradient) + p.offset, parameter + p.offset * width, exact ? exact + p.offset * master_width : nullptr};
      for (Slot k = 0; k < 2; ++k)
        if (float* const state = memory.find<float>(*i, UpdateSlot::first_state + k)) range.states[k] = state + p.offset;
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
  if (const auto* adamw = std::get_if<kernels::AdamWSettings>(&settings)) require(kernels::adamw(table, kind, scalars, *adamw, stream), "AdamW");
  else require(kernels::sgd(table, kind, scalars, std::get<kernels::SgdSettings>(settings), stream), "SGD");
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
