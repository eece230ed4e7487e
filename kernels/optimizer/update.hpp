// What the kernels that update weights have in common.
#pragma once
#include "kernels/optimizer/chunks.hpp"
#include "kernels/optimizer/stochastic_rounding.hpp"
#include <cstdint>

namespace trainx::kernels {

/// How the exact weight is kept.
enum class WeightKind : std::uint8_t {
  fp32,              // the parameter is fp32 and exact
  bf16,              // the parameter is bf16; what is rounded away is lost
  bf16_with_master,  // bf16 beside an exact fp32 master
  bf16_split,        // bf16 beside the 16 bits that it lacks (see bits.hpp)
  fp16_with_master,  // fp16 beside an exact fp32 master
  // bf16 alone, rounded up or down at random: what is rounded away is there on average
  bf16_stochastic,
};

/// Elements that are updated alike: one parameter tensor, or a part of it. Memory of the device;
/// for the reference, of the host.
struct UpdateRange {
  const float* gradient = nullptr;
  void* parameter = nullptr;  // float, bf16 or fp16
  void* master = nullptr;     // float, 16-bit integers, or null, by WeightKind
  // of the optimizer, in its order and of its types; null where this range has none
  void* states[6] = {};
  std::int64_t elements = 0;
  bool decays = false;
  RoundingKey rounding;  // of bf16_stochastic
  // instead of gradient, of the references alone: as it comes from the device where the host
  // updates
  const Bf16* rounded_gradient = nullptr;
};

/// Of a reference.
inline float gradient_at(const UpdateRange& r, std::int64_t i) {
  return r.gradient ? r.gradient[i] : widened(r.rounded_gradient[i]);
}

/// The ranges of one launch and their chunks (chunks_of), both in device memory. Ranges do not
/// overlap.
struct UpdateTable {
  const UpdateRange* ranges = nullptr;
  const Chunk* chunks = nullptr;
  std::int64_t chunk_count = 0;
};

/// Scalars of the step in device memory, so that a captured launch serves every step.
struct UpdateScalars {
  // sum of squares of all accumulated gradients, which carry 1 / nominal target count
  const double* norm2 = nullptr;
  const double* target_count = nullptr;         // true target count of the global batch
  const std::int64_t* applied_steps = nullptr;  // updates before this one
  // learning rate by applied steps; the last entry holds from there on
  const double* lr_table = nullptr;
  std::int64_t lr_entries = 0;
  const double* loss_scale = nullptr;  // that gradients and norm2 carry beside; null: 1
};

/// Of gradients and learning rate, before any rule.
struct ScaleSettings {
  // gradients are multiplied by nominal_targets / target_count / loss scale
  double nominal_targets = 1;
  // 0: no clipping; else gradients are multiplied by max_grad_norm / (norm + 1e-6) where that is
  // below 1
  double max_grad_norm = 0;
  double lr_scale = 1;  // the learning rate is multiplied by it
};

}  // namespace trainx::kernels
