// What norms are recognized by in a captured step.
#pragma once
#include <array>
#include <string_view>

namespace trainx::operations {

// RMSNorms and norms of other forms are instances of the same kernels.
constexpr std::array<std::string_view, 2> norm_forward_kernels{"residual_layer_norm_kernel",
                                                               "head_norm_kernel"},
    norm_backward_kernels{"layer_norm_backward_kernel", "head_norm_backward_kernel"};

}  // namespace trainx::operations
