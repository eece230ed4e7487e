// Which of the library's candidates is fastest when the chip has been busy for a while: its power
// limit then sets the clock, as in a training step.
#pragma once
#include "gpu/gemm_plan.hpp"
#include <cstdint>

namespace trainx::gpu {

/// Device bytes for operands of a problem, each 256-byte aligned.
std::int64_t operand_bytes(const GemmProblem& p);

/// The fastest candidate with its times. Operands are random values in `scratch`
/// (operand_bytes(p)); with accumulate the sums go there too. Waits for the device.
GemmChoice fastest_candidate(cublasLtHandle_t handle, GemmPlan& plan, const StreamSpace& space,
                             void* scratch, const GemmTuning& tuning);
/// The same for GemmProblem::own: there is one candidate.
GemmChoice timed_own_gemm(const GemmProblem& p, const StreamSpace& space, void* scratch,
                          const GemmTuning& tuning);

}  // namespace trainx::gpu
