#pragma once
#include <cstddef>
#include <string>

namespace trainx::gpu {

/// The oldest cuDNN that trainx computes with, torch 2.11's, as cudnnGetVersion tells it. On an
/// H200 the deterministic backward of 9.14.0 writes behind the workspace that it asked for.
inline constexpr std::size_t least_cudnn_version = 91900;

/// "9.19.0" for 91900.
std::string cudnn_version(std::size_t number);

/// Throws GpuError 69 for a version older than that; `path`: the file that was loaded.
void require_cudnn_version(std::size_t number, const std::string& path);

}  // namespace trainx::gpu
