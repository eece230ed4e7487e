// What matrix products are recognized by in a captured step.
#pragma once
#include <string_view>

namespace trainx::operations {

/// One of these in a kernel's name, and none of the others: attention's, and kernels that add up
/// the parts of a product.
constexpr std::string_view product_kernels[] = {"nvjet", "gemm", "gemv", "cutlass"};
constexpr std::string_view not_product_kernels[] = {
    "sdpa", "flash_fwd", "flash_bwd", "fmha_cutlass", "execute_split_k_kernel", "splitKreduce"};

/// In the name of trainx's kernel for a product and others that it adds.
constexpr std::string_view summed_products_kernel = "summed_gemm_kernel";

/// One of these in the name of a product's kernel tells that its operands are in fp8; of some
/// kernels names do not tell it. nvjet's begin with a letter for each operand: q for e4m3.
constexpr std::string_view fp8_product_kernels[] = {
    "e4m3", "e5m2", "nvjet_qq", "nvjet_sm90_qq", "nvjet_sm100_qq", "nvjet_sm120_qq"};
/// trainx's kernels that cast operands to fp8, one launch for each; with scales of vectors and
/// blocks the second.
constexpr std::string_view fp8_cast_kernel = "quantize_values_kernel",
                           fp8_blocks_cast_kernel = "quantize_blocks_kernel";

}  // namespace trainx::operations
