#include "operations/common/launch.hpp"
#include "operations/host_copy/host_copy_backends.hpp"

namespace trainx::operations::cuda {
namespace {

void transfer(const Gpu& gpu, void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) {
  gpu::require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, gpu.space.stream),
               "copy between host and GPU");
  gpu::require(cudaStreamSynchronize(gpu.space.stream), "copy between host and GPU");
  gpu.done(Work::copy);
}

}  // namespace

void copy_in(const Gpu& gpu, const Tensor& to, const void* from) {
  transfer(gpu, to.data, from, to.nbytes(), cudaMemcpyHostToDevice);
}
void copy_out(const Gpu& gpu, void* to, const Tensor& from) {
  transfer(gpu, to, from.data, from.nbytes(), cudaMemcpyDeviceToHost);
}

}  // namespace trainx::operations::cuda
