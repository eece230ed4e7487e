// The launches that a program's grad_norm and update instructions become.
#pragma once
#include "kernels/optimizer/adagrad.hpp"
#include "kernels/optimizer/adam.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/adamw_anyprecision.hpp"
#include "kernels/optimizer/lion.hpp"
#include "kernels/optimizer/sgd.hpp"
#include "kernels/optimizer/squared_norm.hpp"
#include "train/cuda/device_tables.hpp"
#include "train/cuda/placed_memory.hpp"

namespace trainx::train {

/// A run of `update` instructions as one launch.
struct UpdateLaunch {
  kernels::UpdateTable table;
  kernels::WeightKind kind{};
  kernels::UpdateScalars scalars;
  std::variant<kernels::AdamWSettings, kernels::SgdSettings, kernels::AdamSettings, kernels::AdagradSettings, kernels::LionSettings, kernels::AnyPrecisionSettings> settings;
  void launch(cudaStream_t stream) const;
};
UpdateLaunch update_launch(const PlacedMemory& memory, DeviceTables& tables, const std::vector<const program::Instruction*>& run, const spec::OptimizerOptions& options,
                           const kernels::ScaleSettings& scale);

struct NormLaunch {
  kernels::NormTable table;
  double* partial = nullptr;
  double* norm2 = nullptr;
  void launch(cudaStream_t stream) const;
};
NormLaunch norm_launch(const PlacedMemory& memory, DeviceTables& tables, const program::Instruction& i);

}  // namespace trainx::train
