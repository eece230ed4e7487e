// cuBLASLt's descriptors for one problem: matrices are row-major here and column-major there, so
// D^T = B^T A^T is what the library is asked for.
#pragma once
#include <cstdint>
#include <vector>
#include "gpu/cublaslt.hpp"
#include "gpu/gemm.hpp"
#include "gpu/gemm_cache.hpp"

namespace trainx::gpu {

/// Largest powers of two, at most 256, that divide the addresses; an algorithm may need them as
/// large as it was chosen for.
struct Alignments {
  std::uint32_t a = 256, b = 256, c = 256, d = 256;  // d also divides bias and aux
  friend bool operator==(const Alignments&, const Alignments&) = default;
};
Alignments alignments_of(const GemmProblem& p, const GemmOperands& x);

class GemmPlan {
 public:
  explicit GemmPlan(const GemmProblem& p);

  /// Before candidates are asked for and before each launch.
  void point_at(const GemmOperands& x);

  /// Candidates of the library's heuristic, its best guess first. Throws GpuError 69 where it knows
  /// none.
  std::vector<GemmChoice> candidates(cublasLtHandle_t handle, const Alignments& alignments,
                                     std::int64_t workspace_bytes, int count) const;
  /// Whether this library takes that algorithm for the problem within so much workspace.
  bool accepts(cublasLtHandle_t handle, const GemmChoice& choice,
               std::int64_t workspace_bytes) const;
  /// Of operands that it points at.
  cublasStatus_t launch(cublasLtHandle_t handle, const GemmOperands& x, const GemmChoice& choice,
                        const StreamSpace& space) const;

  const GemmProblem& problem() const { return problem_; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value);

  GemmProblem problem_;
  Operation operation_;
  Layout a_, b_, d_;
};

}  // namespace trainx::gpu
