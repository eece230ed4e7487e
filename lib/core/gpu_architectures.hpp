// GPUs that the kernels of this build were compiled for (cmake/CudaArchitectures.cmake).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trainx {

/// Compute capabilities as numbers: 90 is 9.0.
struct GpuArchitectures {
  std::vector<int> code;  // ascending: machine code, which runs as it is
  std::vector<int> ptx;   // ascending: what the driver compiles for a GPU when a worker starts

  /// Machine code runs on GPUs of the same major number from its minor number on, PTX on all GPUs
  /// from its capability on.
  bool run_on(int compute_capability) const;
  /// "8.0, 8.6, 9.0, 12.0 and later"; empty: no CUDA parts.
  std::string words() const;
};

/// Of CMake's list with commas, "80-real,120-real,120-virtual"; a number alone is both. What is no
/// such item is left out.
GpuArchitectures read_gpu_architectures(std::string_view list);
/// Of this build; both lists are empty in one without CUDA parts.
const GpuArchitectures& built_gpu_architectures();

}  // namespace trainx
