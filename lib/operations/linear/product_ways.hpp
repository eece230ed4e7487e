// Ways to compute the same by matrix products on a GPU, of which the fastest is taken.
#pragma once
#include "gpu/gemm_problem.hpp"
#include "operations/common/gpu.hpp"
#include <span>
#include <vector>

namespace trainx::operations::cuda {

/// A problem as this GPU computes it.
gpu::GemmProblem as_computed(const Gpu& gpu, gpu::GemmProblem p);

/// Products, and the bytes that other kernels move that belong to them.
struct Way {
  std::vector<gpu::GemmProblem> products;
  std::int64_t other_bytes = 0;
};

/// The one that takes the least time, as far as it is known; what is not known is to be measured.
/// The last where that is not known, or where a step's bits may not depend on what was measured.
const Way& fastest(const Gpu& gpu, std::span<const Way> ways);

}  // namespace trainx::operations::cuda
