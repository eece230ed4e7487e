// What a captured CUDA graph will run, read from the graph itself rather than from what we meant to
// launch.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>
#include <map>
#include <string>

namespace trainx::gpu {

struct CapturedStep {
  // launches, by the kernel's name as the driver has it (mangled)
  std::map<std::string, std::int64_t> kernels;
  std::int64_t copies = 0, copied_bytes = 0;
  std::int64_t bytes_to_host = 0, bytes_from_host = 0;  // of the copied ones
  std::int64_t memsets = 0;
  // calls that the driver makes on the host, by function: libraries have theirs
  std::map<cudaHostFn_t, std::int64_t> host_functions;
};

/// Kernels of libraries too: their names come from the driver, which the runtime's own query
/// refuses. Throws GpuError.
CapturedStep read_graph(cudaGraph_t graph);

}  // namespace trainx::gpu
