// Calls whose operators a CUDA graph could not hold as they are.
#pragma once
#include "exported/call.hpp"
#include <string>

namespace trainx::exported {

/// Operators that wait for a number on the GPU, or that CPUs alone have, become others that compute
/// the same.
void suit_gpu(Call& call);

/// Whether kernels of a GPU are given a number that lies on the host as an argument; others would
/// copy it, which no CUDA graph holds.
bool takes_host_numbers(const std::string& op);

}  // namespace trainx::exported
