#include "plan/checkpoint_size.hpp"
#include "core/units.hpp"
#include <algorithm>
#include <optional>

namespace trainx::plan {
namespace {

// Of a tensor in a safetensors header: name, dtype, shape and offsets as JSON, about.
constexpr std::int64_t header_bytes = 120;

/// Does an adapter's checkpoint have the model's own weight?
bool saves_base(const AdapterPlan& adapter, const program::ParameterSpec& p) {
  return std::ranges::find(adapter.base_tensors, p.name, &AdapterPlan::Tensor::parameter) !=
         adapter.base_tensors.end();
}

/// Those of a run that nobody interrupts, at most; nothing if its steps are not known. An
/// evaluation saves one if it is the best so far.
std::optional<std::int64_t> most_written(const RunPlan& plan) {
  if (plan.total_steps < 0) return std::nullopt;
  const auto times = [&](const Interval& every) {
    return every.steps > 0 ? (plan.total_steps + every.steps - 1) / every.steps : plan.total_steps;
  };
  const std::int64_t saved = times(plan.checkpoint_every),
                     evaluated = plan.eval_samples > 0 ? times(plan.eval_every) : 0;
  return std::max<std::int64_t>(1, std::min(plan.total_steps, saved + evaluated));
}

}  // namespace

CheckpointSize checkpoint_size(const RunPlan& plan) {
  CheckpointSize size;
  for (const auto& group : plan.role().train.front().graph.groups) {
    for (const auto& p : group.parameters) {
      // the model's folder has it
      if (plan.adapter && !group.training.trained && !saves_base(*plan.adapter, p)) continue;
      size.each_bytes += p.tensor_elements() * size_of(DType::f32) + header_bytes;
      if (!group.training.trained) continue;
      for (const auto& state : plan.update.states) {
        std::int64_t entries = p.tensor_elements();
        if (state.dims) {
          const auto dims = state.dims(p);
          if (dims.empty()) continue;  // this tensor has none
          entries = program::TensorSpec{"", state.dtype, dims}.elements();
        }
        size.each_bytes += entries * size_of(state.dtype) + header_bytes;
      }
    }
  }
  const bool keeps_best = plan.eval_samples > 0;
  size.most = plan.recipe.checkpoint.keep_last + (keeps_best ? 1 : 0) + 1;
  if (const auto written = most_written(plan); written && *written <= size.most) {
    size.most = *written;
    size.is_all_written = true;
  }
  return size;
}

DiskRoom disk_room(const CheckpointSize& size, std::int64_t kept_bytes, std::int64_t free_bytes,
                   const std::string& folder) {
  const std::string free = human_bytes(free_bytes) + " are free for " + folder;
  if (size.each_bytes > free_bytes)
    return {"a checkpoint takes " + human_bytes(size.each_bytes) + ", and " + free +
                ": make room, write run.output_dir on another disk, or remove checkpoints of other "
                "runs (trainx ckpt prune)",
            ""};
  if (size.most_bytes() > free_bytes + kept_bytes)
    return {"",
            "checkpoints take up to " + human_bytes(size.most_bytes()) + " (" +
                std::to_string(size.most) + " of " + human_bytes(size.each_bytes) + "), and " +
                free +
                ": lower checkpoint.keep_last, make room, or write run.output_dir on another disk"};
  return {};
}

}  // namespace trainx::plan
