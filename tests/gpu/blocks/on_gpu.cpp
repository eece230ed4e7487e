#include "on_gpu.hpp"
#include "gpu/gpu_error.hpp"
#include "operations/common/gpu_scope.hpp"
#include "execute/cuda/step_needs.hpp"
#include "execute/executor.hpp"
#include <ATen/core/grad_mode.h>

namespace trainx::model::test {

OnGpu::OnGpu(PlainRun& run, bool deterministic, const std::string& gemm_cache)
    : run_(run), gemm_(gemm_cache) {
  for (const at::Tensor& bytes : run.buffers())
    gpu::require(cudaMemcpy(allocate(bytes.numel()), bytes.data_ptr(), bytes.nbytes(),
                            cudaMemcpyHostToDevice),
                 "buffer to the GPU");
  // The deterministic attention keeps the gradients of all scores.
  const std::int64_t workspace_bytes = run.graph.library_bytes +
                                       (deterministic ? std::int64_t{256} << 20 : 0);
  void* const workspace = allocate(workspace_bytes);
  auto* const counters = static_cast<std::uint32_t*>(allocate(kernels::fold_words * 4));
  gpu::require(cudaMemset(counters, 0, kernels::fold_words * 4), "counters");
  gpu_.gemm = &gemm_;
  gpu_.attention = &attention_;
  gpu_.space = gpu_.gemm_space = {nullptr, workspace, workspace_bytes};
  gpu_.fold = {static_cast<float*>(workspace), counters};
  gpu_.sort = workspace;
  gpu_.deterministic = deterministic;
  data::BatchView batch;
  for (const program::TensorSpec& field : run.graph.batch)
    execute::set_field(batch, field, static_cast<std::byte*>(run.memory.at(field.name).data_ptr()));
  needs = execute::with_batch({.padded = false}, batch, run.graph);
}

OnGpu::~OnGpu() {
  for (void* p : memory_) cudaFree(p);
}

void* OnGpu::allocate(std::int64_t bytes) {
  void* p = nullptr;
  gpu::require(cudaMalloc(&p, static_cast<std::size_t>(bytes)), "device memory");
  memory_.push_back(p);
  return p;
}

void OnGpu::run() {
  const at::NoGradGuard no_grad;
  gpu_.needs = needs;
  {
    const operations::GpuScope scope(gpu_);
    run_.run_at(memory_, Place::gpu);
  }
  gpu::require(cudaDeviceSynchronize(), "the step on the GPU");
  for (std::size_t b = 0; b < run_.buffers().size(); ++b) {
    const at::Tensor& bytes = run_.buffers()[b];
    gpu::require(cudaMemcpy(bytes.data_ptr(), memory_[b], bytes.nbytes(), cudaMemcpyDeviceToHost),
                 "buffer from the GPU");
  }
}

}  // namespace trainx::model::test
