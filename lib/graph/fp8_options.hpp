#pragma once
#include "graph/fp8_gain.hpp"
#include "graph/fp8_scaling.hpp"
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace trainx::graph {

/// Layers whose linear operations multiply operands in fp8. inner: all but the first and the last.
enum class Fp8Layers : std::uint8_t { off, inner, all };

/// When weights are cast: by each operation that multiplies them; by the first of a step, for all
/// (operations::Linear::casts_once); by the program, before ranks that have parts of them gather
/// them (operations::Linear::weight_in_fp8).
enum class Fp8WeightCasts : std::uint8_t { in_each_use, once_a_step, before_gathers };

/// Which products have operands in fp8, and how these are cast.
struct Fp8Options {
  Fp8Layers layers = Fp8Layers::off;
  Fp8Scaling scaling = Fp8Scaling::current;
  std::set<std::string> left_out = {};  // by names of weights: Fp8Product::weight
  Fp8WeightCasts weight_casts = Fp8WeightCasts::in_each_use;
  std::optional<Fp8Costs> costs = {};  // products that gain nothing are left out, too
  bool operator==(const Fp8Options&) const = default;
};

}  // namespace trainx::graph
