#pragma once
#include "graph/fp8_gain.hpp"
#include "operations/linear/fp8_weight_casts_spec.hpp"
#include "operations/quantize/fp8_scaling_spec.hpp"
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace trainx::graph {

/// Layers whose linear operations multiply operands in fp8. inner: all but the first and the last.
enum class Fp8Layers : std::uint8_t { off, inner, all };

/// Which products have operands in fp8, and how these are cast.
struct Fp8Options {
  Fp8Layers layers = Fp8Layers::off;
  operations::Fp8Scaling scaling = operations::Fp8Scaling::current;
  std::set<std::string> left_out = {};  // by names of weights: Fp8Product::weight
  operations::Fp8WeightCasts weight_casts = operations::Fp8WeightCasts::in_each_use;
  // of weights that are cast once a run: no program of the run needs more of them than the copies
  bool copies_suffice = false;
  std::optional<Fp8Costs> costs = {};  // products that gain nothing are left out, too
  bool operator==(const Fp8Options&) const = default;
};

}  // namespace trainx::graph
