#pragma once
#include "graph/fp8_options.hpp"

namespace trainx::graph {

struct Model;

/// Gives the linear operations of Fp8Options::layers operands in fp8: their input is what a
/// Quantize operation makes of it, once for all that read it, and so it is what backward keeps.
/// Gradients still belong to the value that was quantized: rounding has the derivative of the
/// identity. Embedding and head stay as they are, and on a GPU layers of which a size does not fit
/// its kernels (gpu_multiplies_fp8), and those that the options leave out. Follows fuse(). Weights
/// that are cast before gathers form groups of their own, which stay the same whatever is left out;
/// a block of which something is left out casts in each use.
void quantize_products(Model& model, const Fp8Options& options);

}  // namespace trainx::graph
