// Products with those of adapters added (kernels/linear/hopper/summed_products.hpp), timed.
#pragma once
#include "bench/hopper_attention/harness.hpp"

namespace trainx::bench {

/// Prints the times of layers of Llama-3.1-8B's and Qwen3-0.6B's sizes, with adapters of rank 16,
/// beside cuBLASLt's of the same layers without adapters. Throws std::runtime_error where a kernel
/// fails.
void time_summed(Checks& checks);

}  // namespace trainx::bench
