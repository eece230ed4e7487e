// The cached decoder with its tensors on the GPU against the whole text in fp64.
#include "gpu/gpu_error.hpp"
#include "model/decoder.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include "tensor/torch_view.hpp"
#include "torch/model/cases.hpp"
#include "torch/model/reference_gpt2.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include "gpu/device.hpp"

namespace decoder_gpu_test {

using namespace trainx;
using namespace trainx::model::test;

namespace {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::int64_t bytes, int fill = 0xff) {  // NaN
    gpu::require(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)), "device memory");
    gpu::require(cudaMemset(memory_, fill, static_cast<std::size_t>(bytes)), "device memory");
  }
  ~DeviceMemory() { cudaFree(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&& o) noexcept : memory_(std::exchange(o.memory_, nullptr)) {}
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
};

}  // namespace

TEST_CASE("the decoder on the GPU: logits of the whole text behind every piece", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Case t = cases().at(static_cast<std::size_t>(GENERATE(0, 2, 3, 4, 6, 7)));
  t.dims.dropout = 0;
  t.batch = 1;
  t.length = t.dims.max_positions;
  INFO(t.name);
  PlainRun run = make_run(t, DType::f32);
  const at::Tensor ids = run.buffer("tokens", DType::i32);
  const auto* const tokens = ids.const_data_ptr<std::int32_t>();
  const at::Tensor want = reference_gpt2(t.dims, run.parameters("w.", DType::f32),
                                         {ids.view({1, t.length}),
                                          run.buffer("targets", DType::i32).view({1, t.length}),
                                          run.buffer("positions", DType::i64)},
                                         1, 1)
                              .logits[0];

  std::vector<DeviceMemory> weights;
  std::vector<Tensor> groups;
  for (const auto& group : run.graph.groups) {
    const at::Tensor host = run.buffer("w." + group.name, DType::f32);
    gpu::require(cudaMemcpy(weights.emplace_back(static_cast<std::int64_t>(host.nbytes())).data(),
                            host.const_data_ptr(), host.nbytes(), cudaMemcpyHostToDevice),
                 "weights");
    groups.push_back(make_tensor(weights.back().data(), DType::f32, {group.elements}, Place::gpu));
  }
  const model::Decoder::GraphOf graph_of = [&](std::int64_t length) {
    return architectures::graph_of(t.dims, 1, length, DType::f32,
                                   architectures::GraphOptions::on_gpu(true));
  };
  const DeviceMemory memory(model::Decoder::memory_bytes(graph_of, t.length)), workspace(64 << 20),
      counters(kernels::fold_words * 4, 0);
  gpu::Gemm gemm{""};
  gpu::Attention attention;
  operations::Gpu gpu;
  gpu.gemm = &gemm;
  gpu.attention = &attention;
  gpu.space = gpu.gemm_space = {nullptr, workspace.data(), 64 << 20};
  gpu.fold = {reinterpret_cast<float*>(workspace.data()),
              reinterpret_cast<std::uint32_t*>(counters.data())};
  gpu.deterministic = true;
  const operations::GpuScope scope(gpu);
  model::Decoder decoder(graph_of, t.dims.vocab_size, t.length, groups, memory.data());
  for (const std::int64_t piece : {std::int64_t{1}, std::int64_t{3}, t.length}) {
    decoder.clear();
    for (std::int64_t at = 0; at < t.length;) {
      const std::int64_t count = std::min(piece, t.length - at);
      const auto logits = decoder.append({tokens + at, static_cast<std::size_t>(count)});
      at += count;
      const double error =
          relative_error(at::from_blob(const_cast<float*>(logits.data()),
                                       {static_cast<std::int64_t>(logits.size())}, at::kFloat),
                         want[at - 1]);
      if (!(error <= 1e-5)) FAIL("pieces of " << piece << " up to " << at << ": " << error);
    }
  }
}

}  // namespace decoder_gpu_test
