// Tiles of libraries' products in 16 bits on GPUs before Hopper, and on those without its wgmma.
#pragma once
#include "program/tiles.hpp"
#include <array>

namespace trainx::hardware {

// Those of CUTLASS's kernels for mma.sync, in its documentation of efficient GEMMs.
inline constexpr std::array<program::Tile, 8> tensor_core_tiles{
    {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {256, 64}, {64, 256}, {256, 128}, {128, 256}}};
inline constexpr std::array<int, 8> tensor_core_splits{1, 2, 3, 4, 5, 6, 7, 8};
inline constexpr program::TileChoices tensor_core_choices{tensor_core_tiles, tensor_core_splits,
                                                          512};

}  // namespace trainx::hardware
