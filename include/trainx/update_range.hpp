#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <cstdint>
#include <span>

namespace trainx {

/// The values as a tensor of one dimension, without a copy. Valid as long as they are.
inline at::Tensor view_of(std::span<float> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

/// A part of one parameter, in one step, for an update rule. All are of equal length, in fp32,
/// owned by trainx and valid during the call.
struct UpdateRange {
  std::span<float> parameter;  // exact weights, whatever precision.compute is: to be updated
  std::span<float> gradient;   // of the step's mean loss, after clipping; may be overwritten
  std::span<const std::span<float>> states;  // in the order of their declaration: to be updated
  double lr = 0;                             // of the step and the parameter's group
  std::int64_t step = 1;                     // counts updates: 1 in the first one
  // of the parameter's group; 0 for parameters that do not decay, and where the optimizer has no
  // option weight_decay
  double weight_decay = 0;

  at::Tensor parameter_view() const { return view_of(parameter); }
  at::Tensor gradient_view() const { return view_of(gradient); }
  at::Tensor state_view(std::size_t k) const { return view_of(states[k]); }
};

}  // namespace trainx
