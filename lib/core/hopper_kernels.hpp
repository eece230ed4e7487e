#pragma once

namespace trainx {

/// Does this build hold kernels of Hopper's own instructions (cmake/Layers.cmake)? Builds without
/// CUDA, which only plan, count on them.
#ifdef TRAINX_WITHOUT_HOPPER_KERNELS
inline constexpr bool has_hopper_kernels = false;
#else
inline constexpr bool has_hopper_kernels = true;
#endif

}  // namespace trainx
