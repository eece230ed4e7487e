// Which products a GPU makes faster in fp8.
#pragma once
#include "operations/quantize/fp8_scaling_spec.hpp"
#include "program/time.hpp"
#include <cstddef>
#include <cstdint>
#include <set>

namespace trainx::graph {

struct Block;
struct Model;

/// The GPU that multiplies in fp8, and the steps that it takes.
struct Fp8Costs {
  program::Rates rates;          // in 16 bits
  std::int64_t tokens = 0;       // of a micro-batch of the longest rows, for which all are decided
  std::int64_t micro_steps = 1;  // which share the casts of weights
  bool operator==(const Fp8Costs&) const = default;
};

/// Seconds that fp8 saves in products, less those of the casts that it needs, forward and backward.
/// Linear layers that share a cast, or whose activation or gate is computed by one, gain together.
class Fp8Gains {
 public:
  explicit Fp8Gains(const Fp8Costs& costs) : costs_(costs), times_(costs_.rates) {}
  Fp8Gains(const Fp8Gains&) = delete;
  Fp8Gains& operator=(const Fp8Gains&) = delete;

  /// Of the block's linear layers that a GPU can multiply in fp8, by their places: those that gain
  /// nothing.
  std::set<std::size_t> without(const Model& model, const Block& block,
                                operations::Fp8Scaling scaling);

 private:
  Fp8Costs costs_;
  program::ProductTimes times_;
};

}  // namespace trainx::graph
