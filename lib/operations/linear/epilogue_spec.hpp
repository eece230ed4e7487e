#pragma once
#include "operations/activation/activation_spec.hpp"
#include <cstdint>

namespace trainx::operations {

/// Where the activation of a linear layer's sum is computed.
enum class Activated : std::uint8_t {
  here,                   // forward and backward
  differentiated_behind,  // backward by the linear layer that reads it (Linear::input_activation)
  // forward by the Quantize operation that reads the sum, so that y is made nowhere; backward here,
  // where the gradient is cast
  in_casts,
  // likewise, of the left half of the sum's columns, times the right half (Gated): y has half the
  // columns
  gated_in_casts
};

/// Who sums the gradient of a linear layer's bias: the layer, or the attention that reads y.
enum class BiasSum : std::uint8_t { here, in_attention };

/// What a linear layer makes: a value of the model, or logits, which a CPU keeps in f32 whatever is
/// computed in.
enum class LinearResult : std::uint8_t { value, logits };

/// What becomes of a linear layer's sum before it is written, and of its gradient before it is
/// multiplied.
struct Epilogue {
  Activation activation = Activation::none;
  Activated activated = Activated::here;
  BiasSum bias_sum = BiasSum::here;
  LinearResult result = LinearResult::value;

  bool operator==(const Epilogue&) const = default;

  bool activates() const { return activation != Activation::none; }
  bool is_differentiated_behind() const { return activated == Activated::differentiated_behind; }
  /// Forward of the activation, and its derivative, belong to casts.
  bool is_in_casts() const {
    return activated == Activated::in_casts || activated == Activated::gated_in_casts;
  }
  bool is_gated() const { return activated == Activated::gated_in_casts; }
  bool makes_logits() const { return result == LinearResult::logits; }
  /// The sum is an output of its own, which backward reads.
  bool keeps_sum() const { return activates() && !is_in_place(activation); }
  /// The layer's backward differentiates the activation.
  bool differentiates() const { return activates() && !is_differentiated_behind(); }
  /// The layer's backward makes its bias's gradient.
  bool sums_bias() const { return !is_differentiated_behind() && bias_sum == BiasSum::here; }
};

}  // namespace trainx::operations
