#pragma once
#include <cstdint>

namespace trainx {

/// Activations of a layer that backward computes again instead of keeping them. selective: what is
/// cheap (SlotSpec::cheap); mlp: that, and all that the layer's blocks without attention keep;
/// full: all but what the layer's forward begins with (Chen et al. 2016, arXiv:1604.06174).
enum class RecomputeLevel : std::uint8_t { none, selective, mlp, full };

}  // namespace trainx
