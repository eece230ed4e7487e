#include "model/custom/measured_device.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include "operations/module/module_memory_cuda.hpp"
#include <ATen/record_function.h>
#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>

namespace trainx::model::custom {
namespace {

/// While one lives it hears which of LibTorch's operators an exception leaves, those of autograd's
/// thread as well.
class FailedOperator {
 public:
  FailedOperator() {
    name().clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
  }
  ~FailedOperator() { at::removeCallback(handle_); }
  FailedOperator(const FailedOperator&) = delete;

  /// "aten::nonzero", the innermost one; empty: none.
  static std::string found() {
    const std::lock_guard lock(mutex());
    return name();
  }

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) { return nullptr; }
  static void end(const at::RecordFunction& f, at::ObserverContext*) {
    if (std::uncaught_exceptions() == 0) return;
    const std::lock_guard lock(mutex());
    if (name().empty()) name() = f.name();
  }
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static std::string& name() {
    static std::string n;
    return n;
  }

  at::CallbackHandle handle_;
};

/// The cause in a library's message: what follows its last "CUDA error: ", on that line.
std::string cause_of(std::string words) {
  static const std::string mark = "CUDA error: ";
  if (const auto at = words.rfind(mark); at != std::string::npos) words.erase(0, at + mark.size());
  return words.substr(0, words.find('\n'));
}

class MeasuredGpu final : public MeasuredDevice {
 public:
  explicit MeasuredGpu(const MeasuredGpuOptions& how)
      : captures_(how.captures),
        stream_(open_stream()),
        counters_(open_counters()),
        torch_(stream_, memory_, {how.tf32, how.deterministic}) {
    ops_.torch = &torch_;
    ops_.space.stream = stream_;
    ops_.fold.counters = counters_.as<std::uint32_t>();
    gpu::require(cudaMemsetAsync(counters_, 0, counter_bytes, stream_), "counters");
    ops_.deterministic = how.deterministic;
  }
  ~MeasuredGpu() override { cudaStreamSynchronize(stream_); }

  Place place() const override { return Place::gpu; }
  void* stream() const override { return stream_; }
  void compute(const std::function<void()>& f) override {
    const operations::GpuScope scope(ops_);
    const operations::cuda::TorchCuda::Call call(torch_, "a module");
    gpu::with_device("a module", f);
  }
  program::Bytes used_bytes() const override { return memory_.used_bytes(); }
  program::Bytes peak_bytes() const override { return memory_.peak_bytes(); }
  void reset_peak() override { memory_.reset_peak(); }
  // Pieces are taken where they fit first: an eighth more, and what the smallest ones leave.
  program::Bytes planned(program::Bytes measured) const override { return measured + measured / 8; }

  bool captures() const override { return captures_; }
  void wait() override { gpu::require(cudaStreamSynchronize(stream_), "modules on the GPU"); }
  std::string try_capture(program::Bytes bytes, const std::function<void()>& f,
                          double& replay_s) override {
    gpu::require(cudaStreamSynchronize(stream_), "modules on the GPU");
    memory_.reserve(bytes);
    const FailedOperator failed;
    std::string why;
    gpu::require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                 "capture of modules");
    try {
      compute(f);
    } catch (const std::exception& e) {
      const std::string name = FailedOperator::found();
      why = (name.empty() ? "" : "calls " + name + ", which a CUDA graph cannot hold: ") +
            cause_of(e.what());
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    const gpu::Graph owned(graph);
    cudaGetLastError();
    if (why.empty() && ended != cudaSuccess)
      why = std::string("cannot be captured: ") + cudaGetErrorString(ended);
    if (why.empty()) replay_s = replay_seconds(owned);
    memory_.release_reserve();
    return why;
  }

 private:
  /// The fastest of a few.
  double replay_seconds(cudaGraph_t graph) {
    cudaGraphExec_t made = nullptr;
    gpu::require(cudaGraphInstantiate(&made, graph, 0), "CUDA graph of modules");
    const gpu::GraphExec owned(made);
    double fastest = std::numeric_limits<double>::infinity();
    for (int replay = 0; replay < 6; ++replay) {
      wait();
      const auto begin = std::chrono::steady_clock::now();
      gpu::require(cudaGraphLaunch(owned, stream_), "CUDA graph of modules");
      wait();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      fastest = std::min(fastest, took.count());
    }
    return fastest;
  }

  static gpu::Stream open_stream() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
      throw gpu::GpuError(ExitCode::unavailable,
                          "run.device is gpu, and memory of a model of your own is measured on the "
                          "GPU: there is none here that can be used (nvidia-smi); plan where the "
                          "run will train, or set run.device to cpu");
    gpu::require(cudaSetDevice(0), "GPU 0 cannot be used");
    return gpu::make_stream("stream");
  }

  static constexpr std::size_t counter_bytes = kernels::fold_words * sizeof(std::uint32_t);
  static gpu::DeviceMemory open_counters() {
    void* memory = nullptr;
    gpu::require(cudaMalloc(&memory, counter_bytes), "counters");
    return gpu::DeviceMemory(memory);
  }

  bool captures_;
  gpu::Stream stream_;
  gpu::DeviceMemory counters_;  // of trainx's own loss
  operations::cuda::MeasuredModuleMemory memory_;
  operations::cuda::TorchCuda torch_;
  operations::Gpu ops_;
};

}  // namespace

std::unique_ptr<MeasuredDevice> cuda::measured_gpu(const MeasuredGpuOptions& how) {
  return std::make_unique<MeasuredGpu>(how);
}

}  // namespace trainx::model::custom
