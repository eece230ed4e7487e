#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// Rewrites a model for its kernels; it computes the same.
///
/// - A block's closing sum opens the next block, with the norm that follows it; so the bias of the
///   branch is added there and belongs to that block's parameters.
/// - A residual that a norm leads to is kept as the sum before the norm.
/// - A linear layer whose input is an activation of another's result differentiates that, too.
/// - On a GPU, where `adds_in_products`, a linear layer whose result is added to the residual adds
///   it itself; the norm behind it sums the gradient of its bias.
/// - Attention by kernels for Hopper sums the gradient of its input's bias.
void fuse(Model& model, bool adds_in_products = true);

}  // namespace trainx::graph
