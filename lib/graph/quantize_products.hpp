#pragma once
#include "graph/fp8_gain.hpp"
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace trainx::graph {

struct Model;

/// Layers whose linear operations multiply operands in fp8. inner: all but the first and the last.
enum class Fp8Layers : std::uint8_t { off, inner, all };

/// When weights are cast: by each operation that multiplies them; by the first of a step, for all
/// (operations::Linear::casts_once); by the program, before ranks that have parts of them gather
/// them (operations::Linear::weight_in_fp8).
enum class Fp8WeightCasts : std::uint8_t { in_each_use, once_a_step, before_gathers };

/// A linear layer whose operands are cast to fp8, unless it is left out. Its tensors keep their
/// numbers (operations::Fp8Site) whichever layers are left out.
struct Fp8Product {
  std::string weight;  // name of its parameter; of several as one tensor, of the first
  int block = 0;       // of the model
  int input = 0;       // number of the input, which other layers of the block may read too
  int number = 0;      // of the weight and of the output gradient
  bool left_out = false;
  bool gains_nothing = false;  // why it is left out: Fp8Gains
};

/// Gives the linear operations of those layers operands in fp8: their input is what a Quantize
/// operation makes of it, once for all that read it, and so it is what backward keeps. Gradients
/// still belong to the value that was quantized: rounding has the derivative of the identity.
/// Embedding and head stay as they are, and on a GPU layers of which a size does not fit its
/// kernels (gpu_multiplies_fp8), and `left_out`, by the names of weights (Fp8Product::weight); with
/// `costs` also those that gain nothing.
/// Follows fuse(). Weights that are cast before gathers form groups of their own, which stay the
/// same whatever is left out; a block of which something is left out casts in each use.
void quantize_products(Model& model, Fp8Layers layers, Fp8Scaling scaling = Fp8Scaling::current,
                       const std::set<std::string>& left_out = {},
                       Fp8WeightCasts casts = Fp8WeightCasts::in_each_use,
                       const std::optional<Fp8Costs>& costs = {});

}  // namespace trainx::graph
