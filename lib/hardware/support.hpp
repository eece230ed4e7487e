// Which GPUs the kernels of this build run on: said once, for doctor, plans and workers.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace trainx::hardware {

/// Those that the kernels were compiled for, as CMake writes them: "80-real,90a-real,120-virtual".
/// Empty: built without CUDA.
std::string_view built_architectures();

struct Unsupported {
  std::string problem, remedy;
  std::string sentence() const { return problem + "; " + remedy; }
};
/// Why a GPU of that capability (90: 9.0; 0: not told) cannot compute; nothing if it can. `name`:
/// how the sentence calls it. Nothing without architectures: then no GPU is used.
std::optional<Unsupported> why_unsupported(std::string_view name, int compute_capability,
                                           std::string_view architectures = built_architectures());

/// Why no build of trainx computes on it: plans alone are made for such a GPU.
std::optional<Unsupported> why_never_supported(std::string_view name, int compute_capability);

/// Of tensor cores, from Ampere on.
constexpr bool has_bf16_and_tf32(int compute_capability) { return compute_capability >= 80; }
/// From Ada on.
constexpr bool has_fp8(int compute_capability) { return compute_capability >= 89; }
/// Products of fp8 with scales of 128 elements and of 128 x 128: by cuBLASLt on Hopper alone.
constexpr bool has_fp8_blocks(int compute_capability) { return compute_capability == 90; }

}  // namespace trainx::hardware
