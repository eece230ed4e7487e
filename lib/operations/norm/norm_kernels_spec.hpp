// What norms are recognized by in a captured step.
#pragma once
#include <string_view>

namespace trainx::operations {

constexpr std::string_view norm_forward_kernel = "residual_layer_norm_kernel",
                           norm_backward_kernel = "layer_norm_backward_kernel";

}  // namespace trainx::operations
