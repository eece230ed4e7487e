#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// Rewrites a model for its kernels; it computes the same.
///
/// - A block's closing sum opens the next block, with the norm that follows it; so the bias of the
///   branch is added there and belongs to that block's parameters.
/// - A residual that a norm leads to is kept as the sum before the norm.
/// - A linear layer whose input is an activation of another's result differentiates that, too.
/// - Attention by kernels for Hopper sums the gradient of its input's bias.
void fuse(Model& model);

}  // namespace trainx::graph
