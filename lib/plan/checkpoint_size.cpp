#include "plan/checkpoint_size.hpp"
#include "core/units.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

// Of a tensor in a safetensors header: name, dtype, shape and offsets as JSON, about.
constexpr std::int64_t header_bytes = 120;

}  // namespace

CheckpointSize checkpoint_size(const RunPlan& plan) {
  CheckpointSize size;
  for (const auto& group : plan.train.front().graph.groups)
    for (const auto& p : group.parameters) {
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
  const bool keeps_best = plan.eval_samples > 0;
  size.most = plan.recipe.checkpoint.keep_last + (keeps_best ? 1 : 0) + 1;
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
