// What matrix products are recognized by in a captured step.
#pragma once
#include <string_view>

namespace trainx::operations {

/// One of these in a kernel's name, and none of the others: attention's, and kernels that add up
/// the parts of a product.
constexpr std::string_view product_kernels[] = {"nvjet", "gemm", "gemv", "cutlass"};
constexpr std::string_view not_product_kernels[] = {
    "sdpa", "flash_fwd", "flash_bwd", "fmha_cutlass", "execute_split_k_kernel", "splitKreduce"};

}  // namespace trainx::operations
