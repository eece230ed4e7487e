// Is what ran what was asked for?
#pragma once
#include "plan/expected_kernels.hpp"
#include "execute/captured_kernels.hpp"

namespace trainx::execute {

/// Where the captured kernels are not the expected ones, a sentence each: "6 launches of fused
/// attention in a step, 12 were planned". Kernels are told apart by their names.
std::vector<std::string> differences(const plan::ExpectedKernels& expected,
                                     const CapturedKernels& found);

}  // namespace trainx::execute
