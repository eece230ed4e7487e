#include "gpu/captured_step.hpp"
#include <cuda.h>
#include <vector>
#include "gpu/gpu_error.hpp"

namespace trainx::gpu {
namespace {

// The driver's functions through the runtime, so that nothing links libcuda.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  require(cudaGetDriverEntryPointByVersion(name, &found, 12030, cudaEnableDefault, &result),
          std::string("the driver's ") + name);
  if (result != cudaDriverEntryPointSuccess || !found)
    throw GpuError(ExitCode::unavailable,
                   std::string("the driver has no ") + name +
                       ": it is too old for CUDA 13; update it (580 or newer)");
  return reinterpret_cast<Function*>(found);
}

std::string kernel_name(CUgraphNode node) {
  static auto* const params_of =
      driver_function<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)>(
          "cuGraphKernelNodeGetParams");
  static auto* const function_name =
      driver_function<CUresult(const char**, CUfunction)>("cuFuncGetName");
  static auto* const kernel_name =
      driver_function<CUresult(const char**, CUkernel)>("cuKernelGetName");
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  const char* name = nullptr;
  CUresult result = params_of(node, &params);
  if (result == CUDA_SUCCESS)
    result = params.func ? function_name(&name, params.func) : kernel_name(&name, params.kern);
  if (result != CUDA_SUCCESS || !name)
    throw GpuError(ExitCode::unavailable,
                   "the driver does not tell which kernel a CUDA graph holds (error " +
                       std::to_string(static_cast<int>(result)) + ")");
  return name;
}

bool is_on_host(const void* p) {
  cudaPointerAttributes attributes{};
  require(cudaPointerGetAttributes(&attributes, p), "where a copy of a CUDA graph leads");
  return attributes.type == cudaMemoryTypeHost || attributes.type == cudaMemoryTypeUnregistered;
}

}  // namespace

CapturedStep read_graph(cudaGraph_t graph) {
  std::size_t count = 0;
  require(cudaGraphGetNodes(graph, nullptr, &count), "nodes of a CUDA graph");
  std::vector<cudaGraphNode_t> nodes(count);
  require(cudaGraphGetNodes(graph, nodes.data(), &count), "nodes of a CUDA graph");
  CapturedStep step;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    require(cudaGraphNodeGetType(node, &type), "node of a CUDA graph");
    if (type == cudaGraphNodeTypeKernel) ++step.kernels[kernel_name(node)];
    if (type == cudaGraphNodeTypeMemset) ++step.memsets;
    if (type == cudaGraphNodeTypeHost) {
      cudaHostNodeParams params{};
      require(cudaGraphHostNodeGetParams(node, &params), "host function of a CUDA graph");
      ++step.host_functions[params.fn];
    }
    if (type == cudaGraphNodeTypeMemcpy) {
      cudaMemcpy3DParms params{};
      require(cudaGraphMemcpyNodeGetParams(node, &params), "copy of a CUDA graph");
      ++step.copies;
      const auto bytes = static_cast<std::int64_t>(params.extent.width * params.extent.height *
                                                   params.extent.depth);
      step.copied_bytes += bytes;
      const bool from_host = is_on_host(params.srcPtr.ptr), to_host = is_on_host(params.dstPtr.ptr);
      if (to_host && !from_host) step.bytes_to_host += bytes;
      if (from_host && !to_host) step.bytes_from_host += bytes;
    }
  }
  return step;
}

}  // namespace trainx::gpu
