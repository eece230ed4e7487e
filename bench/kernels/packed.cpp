// Attention inside the documents of packed rows: trainx's own kernels beside LibTorch's flash
// attention for sequences of many lengths, which has to be told on the host how many there are.
// GPT-2 124M's heads, rows of 1024 tokens, documents of 50 tokens and more, 270 on average.
// Sustained; one JSON object a line; times in ms.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sub.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>
#include "kernels/attention/document_attention.hpp"
#include "sustained.hpp"

using namespace trainx::kernels;
using trainx::bench::sustained_ms;

namespace {

constexpr std::int64_t rows = 32, tokens = 1024, heads = 12, head = 64;

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

struct Documents {
  // of each token in its row; of each document, and the end of the last, over all rows
  std::vector<std::int32_t> starts, cuts{0};
  double pairs = 0;  // of tokens that see each other
  std::int64_t longest = 0;
};

Documents make_documents() {
  Documents d;
  std::uint32_t state = 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t begin = 0, end; begin < tokens; begin = end) {
      state = state * 1664525 + 1013904223;
      end = std::min(tokens,
                     begin + 50 - std::lround(220 * std::log((state >> 8) / 16777216.0 + 1e-7)));
      d.starts.insert(d.starts.end(), static_cast<std::size_t>(end - begin),
                      static_cast<std::int32_t>(begin));
      d.cuts.push_back(static_cast<std::int32_t>(r * tokens + end));
      d.pairs += static_cast<double>((end - begin) * (end - begin + 1)) / 2;
      d.longest = std::max(d.longest, end - begin);
    }
  return d;
}

at::Tensor on_device(const std::vector<std::int32_t>& host, at::TensorOptions like) {
  const at::Tensor to = at::empty({static_cast<std::int64_t>(host.size())}, like.dtype(at::kInt));
  require(cudaMemcpy(to.data_ptr(), host.data(), host.size() * 4, cudaMemcpyHostToDevice));
  return to;
}

void print(const char* whose, double forward_ms, double backward_ms, double flops) {
  std::printf("%s\n", nlohmann::json{{"attention inside documents", whose},
                                     {"forward_ms", forward_ms},
                                     {"backward_ms", backward_ms},
                                     {"forward_tflops", flops / forward_ms / 1e9},
                                     {"backward_tflops", 2.5 * flops / backward_ms / 1e9}}
                          .dump()
                          .c_str());
  std::fflush(stdout);
}

}  // namespace

int main() {
  try {
    const Documents documents = make_documents();
    const double flops = 4.0 * heads * head * documents.pairs;
    const at::TensorOptions gpu = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
    const at::Tensor qkv = at::randn({rows * tokens, 3, heads, head}, gpu),
                     d_out = at::randn({rows * tokens, heads, head}, gpu),
                     out = at::empty_like(d_out), d_qkv = at::empty_like(qkv);
    const at::Tensor lse = at::empty({rows, heads, tokens}, gpu.dtype(at::kFloat)),
                     delta = at::empty_like(lse);
    const at::Tensor starts = on_device(documents.starts, gpu),
                     cuts = on_device(documents.cuts, gpu), ends = at::empty_like(starts);
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    const AttentionSize size{rows, tokens, heads, head};
    const auto elements = [](const at::Tensor& x) { return static_cast<Bf16*>(x.data_ptr()); };
    const auto* const start = static_cast<const std::int32_t*>(starts.data_ptr());
    auto* const log_sums = static_cast<float*>(lse.data_ptr());
    const double forward = sustained_ms(stream, [&] {
      require(
          document_attention_forward(elements(qkv), start, elements(out), log_sums, size, stream));
    });
    const double backward = sustained_ms(stream, [&] {
      require(document_attention_backward(
          elements(qkv), start, elements(out), log_sums, elements(d_out), elements(d_qkv),
          static_cast<float*>(delta.data_ptr()), static_cast<std::int32_t*>(ends.data_ptr()), size,
          stream));
    });
    print("trainx", forward, backward, flops);

    const at::Tensor q = qkv.select(1, 0), k = qkv.select(1, 1), v = qkv.select(1, 2), none;
    const auto flash = [&] {
      return at::_flash_attention_forward(q, k, v, cuts, cuts, documents.longest, documents.longest,
                                          0.0, true, false);
    };
    const auto result = flash();
    const at::Tensor theirs = std::get<0>(result), sums = std::get<1>(result);
    const double flash_forward = sustained_ms(stream, flash);
    const double flash_backward = sustained_ms(stream, [&] {
      at::_flash_attention_backward(d_out, q, k, v, theirs, sums, cuts, cuts, documents.longest,
                                    documents.longest, 0.0, true, none, none);
    });
    print("flash, sequences of many lengths", flash_forward, flash_backward, flops);
    const double difference =
        at::sub(theirs.to(at::kFloat), out.to(at::kFloat)).abs().max().item<double>();
    std::printf("%s\n", nlohmann::json{{"largest difference of outputs", difference},
                                       {"documents", documents.cuts.size() - 1},
                                       {"longest", documents.longest}}
                            .dump()
                            .c_str());
    return difference < 0.05 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
