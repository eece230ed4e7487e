// The launches that a program's grad_norm and update instructions become.
#pragma once
#include "kernels/optimizer/squared_norm.hpp"
#include "kernels/optimizer/update.hpp"
#include "options/optim/options.hpp"
#include "execute/cuda/device_tables.hpp"
#include "execute/cuda/own_updates.hpp"
#include "execute/placed_memory.hpp"
#include <cstdint>
#include <functional>

namespace trainx::execute {

/// A run of `update` instructions, or of `measure`, all at once.
struct UpdateLaunch {
  std::function<cudaError_t(cudaStream_t)> start;
  void launch(cudaStream_t stream) const;
};
/// `groups`: as this rank's updates see them; those of the run are trained alike. `ema_decay`: of
/// an average of the weights, their last state, which is updated behind them. `rules`, `on_host`:
/// of an optimizer of the user's own (own_updates.hpp), else null.
UpdateLaunch update_launch(const PlacedMemory& memory, DeviceTables& tables,
                           const std::vector<program::LocalGroup>& groups,
                           const std::vector<const program::Instruction*>& run,
                           const options::OptimizerOptions& options,
                           const kernels::ScaleSettings& scale,
                           std::optional<std::uint64_t> rounding_seed,
                           std::optional<double> ema_decay, const OwnRules* rules,
                           const OnHost& on_host);

struct NormLaunch {
  kernels::NormTable table;
  double* partial = nullptr;
  double* norm2 = nullptr;
  bool add = false;  // to what norm2 holds
  void launch(cudaStream_t stream) const;
};
NormLaunch norm_launch(const PlacedMemory& memory, DeviceTables& tables,
                       const std::vector<program::LocalGroup>& groups,
                       const program::Instruction& i);

}  // namespace trainx::execute
