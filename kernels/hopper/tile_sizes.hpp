// Tiles of products of matrices (wide_product.cuh).
#pragma once

namespace trainx::kernels::hopper {

/// Of a result, and along the sum.
constexpr int tile_rows = 128, tile_columns = 256, tile_depth = 64;
/// Rows of a result that a warp stores at once, and columns in 16 and 32 bits: 128 bytes.
constexpr int stored_rows = 16, stored_columns16 = 64, stored_columns32 = 32;

}  // namespace trainx::kernels::hopper
