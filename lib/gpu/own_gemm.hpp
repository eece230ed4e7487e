// Matrix products by trainx's own kernels (kernels/linear/hopper): with a GELU, on Hopper.
#pragma once
#include <cstdint>
#include "gpu/gemm.hpp"

namespace trainx::gpu {

/// May GemmProblem::own be set, on a GPU of this compute capability (90: 9.0)? Operands are
/// aligned to 16 bytes, their rows dense. `workspace_bytes`: for column sums of a gradient.
bool has_own_gemm(const GemmProblem& p, int compute_capability, std::int64_t workspace_bytes);
/// Byte of that workspace at which column sums begin: behind the memory that adds them up
/// (FoldMemory), which lies at its beginning.
std::int64_t own_gemm_sums_at(const GemmProblem& p);
/// Rows of GemmOperands::column_sums.
std::int64_t own_gemm_slabs(const GemmProblem& p);

/// Asynchronous on `stream`. Throws GpuError.
void run_own_gemm(const GemmProblem& p, const GemmOperands& x, cudaStream_t stream);

}  // namespace trainx::gpu
