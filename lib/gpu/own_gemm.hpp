// Matrix products by trainx's own kernels (kernels/linear/hopper), on Hopper: with a GELU, and with
// products of few columns that are added.
#pragma once
#include <cstdint>
#include "gpu/gemm.hpp"

namespace trainx::gpu {

constexpr int most_added_gemms = 4;

/// May GemmProblem::own be set, on a GPU of this compute capability (90: 9.0)? Operands are
/// aligned to 16 bytes, their rows dense; sizes and distances of those that are added are multiples
/// of 8, there are at most most_added_gemms of them, and to an input's gradient they add all of it.
/// `workspace_bytes`: for column sums of a gradient.
bool has_own_gemm(const GemmProblem& p, int compute_capability, std::int64_t workspace_bytes);
/// Byte of that workspace at which column sums begin: behind the memory that adds them up
/// (FoldMemory), which lies at its beginning.
std::int64_t own_gemm_sums_at(const GemmProblem& p);
/// Rows of GemmOperands::column_sums.
std::int64_t own_gemm_slabs(const GemmProblem& p);

/// Asynchronous on `stream`. Throws GpuError.
void run_own_gemm(const GemmProblem& p, const GemmOperands& x, cudaStream_t stream);

}  // namespace trainx::gpu
