// Optimizers over arena ranges: norm, clip, guard, update, rounding and write-back.
#pragma once
#include "program/model_graph.hpp"
#include "program/plain.hpp"
#include "options/optim/options.hpp"
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace trainx::optim {

/// One group's buffers, or the shards that a rank has of them, gaps included (gaps are never
/// touched). Host memory.
struct GroupMemory {
  const program::GroupSpec* group = nullptr;  // of shards: program::shard_of
  std::int64_t first = 0;                     // the group's element that the buffers begin with
  const void* gradient = nullptr;
  DType gradient_dtype = DType::f32;   // or bf16
  DType parameter_dtype = DType::f32;  // f32, bf16 or, with a master, f16
  void* parameter = nullptr;
  program::Master master_kind = program::Master::absent;
  // float (fp32) or std::uint16_t (split); null where the parameter is exact
  void* master = nullptr;
  // of bf16 alone: where it is rounded stochastically (kernels/optimizer/stochastic_rounding.hpp)
  std::optional<std::uint64_t> rounding_seed;
  // of the group in its graph, which those bits hang on as well
  std::int64_t index = 0;
  // in the order of options::states(options), as program::state_layout has them; null where the
  // group has none
  std::vector<void*> states;
  // of shards, where the optimizer updates whole tensors: the group that they are of. States that
  // tensors have (program::Unit::tensor) lie as there
  const program::GroupSpec* of_group = nullptr;
  std::vector<double*> sums;  // ... by round, program::sums_layout of that group
};

/// Scalars of the step, read from their buffers.
struct StepScalars {
  // sum of squares of the accumulated gradients, which carry the loss scale / nominal count
  double norm2 = 0;
  // nominal target count / true target count / loss scale: turns them into gradients of the mean
  // loss
  double gradient_scale = 1;
  std::int64_t applied_steps = 0;  // updates applied before this one
  double lr = 0;
  double max_grad_norm = 0;  // 0: no clipping
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Applies one step to a group; does nothing when the norm of the scaled gradients is not finite
  /// (the guard: nothing non-finite reaches the weights). Clips by global norm as torch does (scale
  /// = max_norm / (norm + 1e-6), at most 1).
  virtual void update(const GroupMemory& memory, const StepScalars& step) const = 0;
  /// Of shards, where the optimizer updates whole tensors: the sums of that round over what is here
  /// of each, into memory.sums. Once they are summed over all shards comes the next round, or the
  /// update.
  virtual void measure(const GroupMemory& memory, const StepScalars& step, int round) const;
};
std::unique_ptr<Optimizer> make_optimizer(const options::OptimizerOptions& options);
/// Updates each of these groups as it is trained (program::GroupTraining). `ema_decay`: of an
/// average of the weights, the last of a group's states.
std::unique_ptr<Optimizer> make_optimizer(const options::OptimizerOptions& options,
                                          const std::vector<program::GroupSpec>& groups,
                                          std::optional<double> ema_decay = std::nullopt);

/// Sum of squares over the group's tensors, gaps left out, in double. The same bits for any number
/// of threads.
double squared_norm(const program::GroupSpec& group, const float* gradient);

/// Splits exact weights into bf16 (rounded to nearest, ties away from zero, as in all updates: see
/// weights.hpp) and the low 16 bits as a signed correction, and joins them bit-exactly; NaN stays
/// some NaN.
void split_master(std::span<const float> exact, std::uint16_t* bf16, std::uint16_t* low);
void join_master(std::span<const std::uint16_t> bf16, const std::uint16_t* low, float* exact);

}  // namespace trainx::optim
