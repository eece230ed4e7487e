// Stands in the place of the CUDA runtime and of cuBLASLt: a GPU whose memory is the host's and
// that computes nothing, but for a step's counters and its report. Copies, captured steps and host
// functions do what they do on a GPU, at once. With it the host's side of a run on a GPU can be
// tested without one; losses follow from the step alone.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::size_t all_bytes = std::size_t{143771} << 20;  // as the stand-in of NVML says
using Work = std::vector<std::function<void()>>;
thread_local Work* captured = nullptr;  // what this thread captures

/// At once, or whenever the graph that is being captured is launched.
cudaError_t issue(std::function<void()> work) {
  captured ? captured->push_back(std::move(work)) : work();
  return cudaSuccess;
}

std::map<const void*, std::string>& kernel_names() {
  static std::map<const void*, std::string> names;
  return names;
}

template <class T>
T argument(void** arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

// As in kernels/step/step_scalars.hpp.
struct StepReport {
  double loss_sum = 0, target_count = 0, norm2 = 0, lr = 0;
  std::int64_t applied_steps = 0;
  double loss_scale = 1;
};
struct StepScalars {
  const double *loss_sum, *target_count, *norm2;
  const std::int64_t* applied_steps;
  const double* lr_table;
  std::int64_t lr_entries;
  const double* loss_scale;
};

void store_report(StepReport* report, const StepScalars& s) {
  StepReport r;
  if (s.applied_steps) r.applied_steps = *s.applied_steps;
  r.target_count = 64;
  r.loss_sum = r.target_count * 3 / (1 + 0.01 * static_cast<double>(r.applied_steps));
  r.norm2 = 1;
  if (s.lr_table && s.applied_steps)
    r.lr = s.lr_table[std::max<std::int64_t>(0, std::min(r.applied_steps - 1, s.lr_entries - 1))];
  *report = r;
}

dim3 grid, block;
std::size_t shared_bytes = 0;
void* launch_stream = nullptr;

void* new_handle() { return std::malloc(1); }

}  // namespace

EXPORTED void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
EXPORTED void __cudaRegisterFatBinaryEnd(void**) {}
EXPORTED void __cudaUnregisterFatBinary(void**) {}
EXPORTED void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
EXPORTED void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*,
                                     uint3*, dim3*, dim3*, int*) {
  kernel_names()[host] = name;
}
EXPORTED unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, std::size_t bytes, void* stream) {
  grid = g, block = b, shared_bytes = bytes, launch_stream = stream;
  return 0;
}
EXPORTED cudaError_t __cudaPopCallConfiguration(dim3* g, dim3* b, std::size_t* bytes,
                                                void* stream) {
  *g = grid, *b = block, *bytes = shared_bytes;
  *static_cast<void**>(stream) = launch_stream;
  return cudaSuccess;
}
EXPORTED cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
EXPORTED cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void** arguments,
                                        std::size_t, cudaStream_t) {
  const std::string& name = kernel_names()[kernel];
  const auto is = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (is("store_report_kernel"))
    return issue(
        [report = argument<StepReport*>(arguments, 0),
         scalars = argument<StepScalars>(arguments, 1)] { store_report(report, scalars); });
  if (is("advance_kernel"))
    return issue([counter = argument<std::int64_t*>(arguments, 0)] { ++*counter; });
  return cudaSuccess;
}

EXPORTED const char* cudaGetErrorString(cudaError_t error) {
  static thread_local std::string words;
  words = "error " + std::to_string(error) + " of a stand-in";
  return words.c_str();
}
EXPORTED cudaError_t cudaGetLastError() { return cudaSuccess; }
EXPORTED cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

EXPORTED cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
EXPORTED cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
EXPORTED cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
EXPORTED cudaError_t cudaSetDevice(int) { return cudaSuccess; }
EXPORTED cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, "NVIDIA H200");
  p->major = 9;
  // as the stand-in of NVML says
  if (const char* told = std::getenv("FAKE_GPU"); told && std::strchr(told, ',')) {
    const int capability = std::atoi(std::strchr(told, ',') + 1);
    p->major = capability / 10, p->minor = capability % 10;
    std::snprintf(p->name, sizeof p->name, "%.*s", static_cast<int>(std::strchr(told, ',') - told),
                  told);
  }
  p->multiProcessorCount = 132;
  p->totalGlobalMem = all_bytes;
  return cudaSuccess;
}
EXPORTED cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount            ? 132
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 227 << 10
                                                                  : 1 << 17;
  return cudaSuccess;
}
EXPORTED cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:17:00.0");
  return cudaSuccess;
}
EXPORTED cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = 0, *greatest = -5, cudaSuccess;
}
EXPORTED cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                                      unsigned long long,
                                                      cudaDriverEntryPointQueryResult* result) {
  return *function = nullptr, *result = cudaDriverEntryPointSymbolNotFound, cudaSuccess;
}
EXPORTED cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, cudaSuccess; }
EXPORTED cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorNotSupported; }
EXPORTED cudaError_t cudaDeviceDisablePeerAccess(int) { return cudaErrorNotSupported; }
EXPORTED cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  return cudaErrorNotSupported;
}
EXPORTED cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return cudaErrorNotSupported;
}
EXPORTED cudaError_t cudaIpcCloseMemHandle(void*) { return cudaErrorNotSupported; }

EXPORTED cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return *free = *total = all_bytes, cudaSuccess;
}
EXPORTED cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
EXPORTED cudaError_t cudaFree(void* memory) { return std::free(memory), cudaSuccess; }
EXPORTED cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return cudaMalloc(memory, bytes);
}
EXPORTED cudaError_t cudaFreeHost(void* memory) { return std::free(memory), cudaSuccess; }
EXPORTED cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
EXPORTED cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
EXPORTED cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  std::memset(attributes, 0, sizeof *attributes);
  attributes->type = cudaMemoryTypeDevice;
  return cudaSuccess;
}
EXPORTED cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                     cudaStream_t) {
  return issue([=] { std::memmove(to, from, bytes); });
}
EXPORTED cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return std::memmove(to, from, bytes), cudaSuccess;
}
EXPORTED cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                         cudaStream_t) {
  return issue([=] { std::memmove(to, from, bytes); });
}
EXPORTED cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  return issue([=] { std::memset(to, value, bytes); });
}
EXPORTED cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                       std::size_t height, cudaStream_t) {
  return issue([=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(static_cast<char*>(to) + row * pitch, value, width);
  });
}

EXPORTED cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return *stream = static_cast<cudaStream_t>(new_handle()), cudaSuccess;
}
EXPORTED cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return std::free(stream), cudaSuccess;
}
EXPORTED cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;
}
EXPORTED cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  return issue([=] { function(data); });
}
EXPORTED cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = static_cast<cudaEvent_t>(new_handle()), cudaSuccess;
}
EXPORTED cudaError_t cudaEventDestroy(cudaEvent_t event) { return std::free(event), cudaSuccess; }
EXPORTED cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned) {
  return cudaSuccess;
}
EXPORTED cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  return *ms = 0, cudaSuccess;
}

EXPORTED cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return captured = new Work, cudaSuccess;
}
EXPORTED cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(captured);
  return captured = nullptr, cudaSuccess;
}
EXPORTED cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, std::size_t* count) {
  return *count = 0, cudaSuccess;  // nothing that was asked for: runs need --allow-degraded
}
EXPORTED cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType*) {
  return cudaErrorNotSupported;
}
EXPORTED cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t, cudaHostNodeParams*) {
  return cudaErrorNotSupported;
}
EXPORTED cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t, cudaMemcpy3DParms*) {
  return cudaErrorNotSupported;
}
EXPORTED cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                          unsigned long long) {
  *made = reinterpret_cast<cudaGraphExec_t>(new Work(*reinterpret_cast<Work*>(graph)));
  return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  for (const auto& work : *reinterpret_cast<Work*>(graph)) work();
  return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return delete reinterpret_cast<Work*>(graph), cudaSuccess;
}
EXPORTED cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return delete reinterpret_cast<Work*>(graph), cudaSuccess;
}

EXPORTED cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  std::memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  return cudaSuccess;
}
EXPORTED cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
EXPORTED cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                            const void*, int,
                                                                            std::size_t, unsigned) {
  return *blocks = 2, cudaSuccess;
}

#define MADE(name, type, ...)                               \
  EXPORTED cublasStatus_t name(type* made, ##__VA_ARGS__) { \
    *made = reinterpret_cast<type>(new_handle());           \
    return CUBLAS_STATUS_SUCCESS;                           \
  }
#define GIVEN_BACK(name, type)                                 \
  EXPORTED cublasStatus_t name(type x) {                       \
    std::free(const_cast<void*>(static_cast<const void*>(x))); \
    return CUBLAS_STATUS_SUCCESS;                              \
  }
MADE(cublasLtCreate, cublasLtHandle_t)
MADE(cublasLtMatmulDescCreate, cublasLtMatmulDesc_t, cublasComputeType_t, cudaDataType_t)
MADE(cublasLtMatrixLayoutCreate, cublasLtMatrixLayout_t, cudaDataType, std::uint64_t, std::uint64_t,
     std::int64_t)
MADE(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreference_t)
GIVEN_BACK(cublasLtDestroy, cublasLtHandle_t)
GIVEN_BACK(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t)
GIVEN_BACK(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t)
GIVEN_BACK(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t)
EXPORTED std::size_t cublasLtGetVersion() { return 130000; }
EXPORTED const char* cublasLtGetStatusString(cublasStatus_t) { return "status of a stand-in"; }
EXPORTED cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t,
                                                       cublasLtMatmulDescAttributes_t, const void*,
                                                       std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                             cublasLtMatmulPreferenceAttributes_t,
                                                             const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t* results, int* returned) {
  std::memset(results, 0, sizeof *results);
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                const cublasLtMatmulAlgo_t*,
                                                cublasLtMatmulHeuristicResult_t* result) {
  std::memset(result, 0, sizeof *result);
  return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*,
                                       const void*, cublasLtMatrixLayout_t, const void*,
                                       cublasLtMatrixLayout_t, const void*, const void*,
                                       cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, void*, std::size_t,
                                       cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}
