#include "operations/attention/torch_cuda.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/library.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Context.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace c10::cuda::CUDACachingAllocator {
// c10/cuda/CUDACachingAllocator.h; only pointers to it are handed on
class CUDAAllocator;
}  // namespace c10::cuda::CUDACachingAllocator

namespace trainx::operations::cuda {
namespace {

TorchCuda* active = nullptr;  // whose memory LibTorch's operators are given
std::mutex memory_mutex;      // autograd frees and allocates on a thread of its own

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using Allocate = std::function<void*(std::size_t, int, cudaStream_t)>;
using Free = std::function<void(void*, std::size_t, int, cudaStream_t)>;

at::Device this_gpu() {
  int index = 0;
  gpu::require(cudaGetDevice(&index), "the GPU of this thread");
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

c10::Stream exchange_stream(c10::StreamId id) {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.exchangeStream(c10::Stream(c10::Stream::UNSAFE, this_gpu(), id));
}

}  // namespace

/// What LibTorch calls: of torch/csrc/cuda/CUDAPluggableAllocator.h, by which users replace its
/// allocator.
struct Hooks {
  static void* allocate(std::size_t bytes, int, cudaStream_t) {
    if (bytes == 0) return nullptr;
    const std::lock_guard lock(memory_mutex);
    if (!active)
      throw InternalError("LibTorch allocates " + std::to_string(bytes) +
                          " bytes of a GPU outside of any operation of trainx");
    return active->take(bytes);
  }
  static void free(void* block, std::size_t, int, cudaStream_t) {
    const std::lock_guard lock(memory_mutex);
    if (active) active->give(block);
  }
};

namespace {

struct Loaded {
  Loaded() : library("libtorch_cpu.so", "libtorch_cuda.so", "attention by LibTorch") {
    using Create = std::shared_ptr<Allocator>(Allocate, Free);
    using Change = void(const std::shared_ptr<Allocator>&);
    auto* const create = library.function<Create>(
        "_ZN5torch4cuda22CUDAPluggableAllocator21createCustomAllocatorESt8functionIFPvmiP11CUstream"
        "_stEES2_IFvS3_miS5_EE");
    auto* const change = library.function<Change>(
        "_ZN5torch4cuda22CUDAPluggableAllocator22changeCurrentAllocatorERKSt10shared_"
        "ptrIN3c104cuda20CUDACachingAllocator13CUDAAllocatorEE");
    clear_product_workspaces = library.function<void()>("_ZN2at4cuda21clearCublasWorkspacesEv");
    if (!at::globalContext().hasCUDART())
      throw InternalError(
          "LibTorch was asked for GPUs before its CUDA half was loaded, and keeps to what it found "
          "then");
    change(create(Hooks::allocate, Hooks::free));
  }
  gpu::Library library;
  void (*clear_product_workspaces)();
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

void load_torch_cuda() {
  try {
    loaded();
  } catch (const c10::Error& error) {
    throw gpu::GpuError(ExitCode::unavailable,
                        std::string("LibTorch's CUDA half does not take an allocator: ") +
                            error.what_without_backtrace());
  }
}

TorchCuda::TorchCuda(cudaStream_t stream, void* memory, std::int64_t bytes,
                     std::optional<TorchProducts> products)
    : stream_(stream), memory_(memory, bytes) {
  load_torch_cuda();
  if (active) throw InternalError("LibTorch's operators have the memory of another run");
  active = this;
  try {
    run("the start of LibTorch's CUDA half", [&] {
      at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
      if (!products) return;
      at::globalContext().setAllowTF32CuBLAS(products->tf32);
      // cuBLAS is given its workspace with the first product, and keeps it.
      const at::Tensor x =
          at::empty(
              {1, 16, 16},
              at::TensorOptions().dtype(tensor::scalar_type(products->type)).device(this_gpu()))
              .zero_();
      at::bmm(x, x);
    });
    gpu::require(cudaStreamSynchronize(stream), "the start of LibTorch's CUDA half");
  } catch (const std::exception&) {
    active = nullptr;
    throw;
  }
  starting_ = false;
  kept_blocks_ = memory_.blocks();
  kept_bytes_ = bytes - memory_.largest_gap();
}

TorchCuda::TorchCuda(cudaStream_t stream, TorchMemory& memory, const TorchModules& how)
    : stream_(stream), memory_(nullptr, 0), modules_(&memory), starting_(false) {
  // what LibTorch asks for before it lets cuBLAS compute deterministically; read with a handle
  if (how.deterministic) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  load_torch_cuda();
  if (active) throw InternalError("LibTorch's operators have the memory of another run");
  active = this;
  try {
    run("the start of LibTorch's CUDA half", [&] {
      at::Context& context = at::globalContext();
      context.lazyInitDevice(c10::DeviceType::CUDA);
      context.setAllowTF32CuBLAS(how.tf32);
      context.setAllowTF32CuDNN(how.tf32);
      context.setDeterministicAlgorithms(how.deterministic, false);
      context.setDeterministicFillUninitializedMemory(false);
    });
  } catch (const std::exception&) {
    active = nullptr;
    throw;
  }
}

TorchCuda* TorchCuda::current() { return active; }

TorchCuda::~TorchCuda() {
  cudaStreamSynchronize(stream_);
  loaded().clear_product_workspaces();  // another run's stream may get this one's name
  active = nullptr;
}

void* TorchCuda::take(std::size_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (modules_) {
    if (void* block = modules_->take(wanted)) return block;
    throw gpu::GpuError(ExitCode::out_of_memory,
                        doing_ + " asks for " + human_bytes(wanted) + " beside the " +
                            human_bytes(modules_->used_bytes()) +
                            " that the model's modules hold on the GPU, which is more than was "
                            "planned for them; a module must take the same memory in each step");
  }
  if (void* block = starting_ ? memory_.take(wanted, gpu::FirstFit::From::end)
                              : memory_.take(wanted))
    return block;
  throw InternalError(
      "LibTorch's attention asks for " + std::to_string(wanted) + " bytes beside the " +
      std::to_string(memory_.used_bytes()) +
      " that it has, and no piece of that size is left of the workspace planned for it");
}

void TorchCuda::give(void* block) { modules_ ? modules_->give(block) : memory_.give(block); }

TorchCuda::Call::Call(TorchCuda& torch, std::string doing) : torch_(torch) {
  if (torch.memory_.blocks() != torch.kept_blocks_)
    throw InternalError("LibTorch kept a tensor of the workspace beyond its call");
  doing_before_ = std::exchange(torch.doing_, std::move(doing));
  stream_before_ = exchange_stream(reinterpret_cast<c10::StreamId>(torch.stream_)).id();
}
TorchCuda::Call::~Call() {
  exchange_stream(stream_before_);
  torch_.doing_ = std::move(doing_before_);
}

void TorchCuda::run(const char* doing, const std::function<void()>& f) {
  const Call call(*this, doing);
  try {
    f();
  } catch (const c10::Error& error) {
    gpu::throw_library_error(ExitCode::unavailable,
                             std::string(doing) + " failed: " + error.what_without_backtrace());
  }
}

}  // namespace trainx::operations::cuda
