// LibTorch's kinds of attention against the reference, in memory that is planned for them, also
// captured.
#include "operations/attention/attention.hpp"
#include "operations/attention/torch_cuda.hpp"
#include "operations/common/gpu_scope.hpp"
#include "operations/common/gpu.hpp"
#include "options/model/attention.hpp"
#include "architectures/library_bytes.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/core/grad_mode.h>
#include "gpu/attention_case.hpp"
#include "kernels/attention/attention.hpp"
#include <cmath>
#include <memory>

namespace torch_attention_test {

using namespace trainx;
using kernels::Bf16, kernels::Fp16, kernels::OnDevice, kernels::narrowed, kernels::relative_error,
    kernels::widened;

namespace {

struct Problem {
  std::int64_t batch, tokens, heads, head_size;
  bool causal, padded;
  DType type;
  bool deterministic;
  std::int64_t rows() const { return batch * tokens * heads * head_size; }
  std::int64_t row_values() const { return batch * tokens * heads; }
};

std::string describe(const Problem& p, AttentionKind kind) {
  return std::string(name_of(kind)) + " B " + std::to_string(p.batch) + " T " +
         std::to_string(p.tokens) + " H " + std::to_string(p.heads) + " D " +
         std::to_string(p.head_size) + " " + std::string(name_of(p.type)) +
         (p.causal ? " causal" : "") + (p.padded ? " padded" : "") +
         (p.deterministic ? " deterministic" : "");
}

std::vector<std::int32_t> lengths_of(const Problem& p) {
  return kernels::sample_lengths(p.batch, p.tokens, p.padded);
}
kernels::Padding padding_of(const Problem& p) {
  return {lengths_of(p), p.tokens, p.heads * p.head_size};
}

/// A stream, and the workspace that is planned for attention of one kind.
class Machine {
 public:
  Machine(const Problem& p, AttentionKind kind) {
    kernels::require_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    const std::int64_t bytes =
        architectures::gpu_library_bytes({.micro_batch_size = p.batch,
                                          .length = p.tokens,
                                          .compute = p.type,
                                          .attention = {{.query_heads = p.heads,
                                                         .key_value_heads = p.heads,
                                                         .head_size = p.head_size,
                                                         .batch = p.batch,
                                                         .length = p.tokens,
                                                         .kind = kind}}},
                                         p.deterministic);
    kernels::require_success(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)), "workspace");
    torch_ = std::make_unique<operations::cuda::TorchCuda>(
        stream_, memory_, bytes,
        kind == AttentionKind::math
            ? std::optional<operations::cuda::TorchProducts>({p.type, false})
            : std::nullopt);
    gpu_.torch = torch_.get();
    gpu_.space = gpu_.gemm_space = {stream_, memory_, bytes - torch_->kept_bytes()};
    gpu_.deterministic = p.deterministic;
    gpu_.needs.padded = p.padded;
  }
  ~Machine() {
    torch_.reset();
    cudaFree(memory_);
    cudaStreamDestroy(stream_);
  }
  Machine(const Machine&) = delete;
  const operations::Gpu& gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
  std::unique_ptr<operations::cuda::TorchCuda> torch_;
  operations::Gpu gpu_;
};

struct Inputs {
  std::vector<float> qkv, d_out;
};

template <class T>
struct Operands {
  Operands(const Problem& p, const Inputs& in)
      : qkv(narrowed<T>(in.qkv)),
        d_out(narrowed<T>(in.d_out)),
        out(narrowed<T>(std::vector<float>(in.d_out.size(), 77))),
        d_qkv(narrowed<T>(std::vector<float>(in.qkv.size(), 77))),
        lse(std::vector<float>(static_cast<std::size_t>(p.row_values()), 77)),
        lengths(lengths_of(p)) {}
  OnDevice<T> qkv, d_out, out, d_qkv;
  OnDevice<float> lse;
  OnDevice<std::int32_t> lengths;

  void both(const Problem& p, AttentionKind kind, const operations::Gpu& gpu) const {
    const at::NoGradGuard no_grad;
    const operations::GpuScope scope(gpu);
    const auto view = [&](const auto* at, std::vector<std::int64_t> dims, DType type) {
      return make_tensor(const_cast<void*>(static_cast<const void*>(at)), type, dims, Place::gpu);
    };
    const std::vector<std::int64_t> one{p.batch, p.tokens, p.heads, p.head_size},
        three{p.batch, p.tokens, 3, p.heads, p.head_size};
    const Tensor x = view(qkv.data(), three, p.type), d = view(d_out.data(), one, p.type),
                 o = view(out.data(), one, p.type), dx = view(d_qkv.data(), three, p.type),
                 l = view(lse.data(), {p.batch, p.tokens, p.heads}, DType::f32),
                 n = view(lengths.data(), {p.batch}, DType::i32);
    if (p.causal) {
      operations::causal_attention(o, l, x, kind);
      operations::causal_attention_backward(dx, d, x, o, l, kind);
    } else {
      operations::bidirectional_attention(o, l, x, n, kind);
      operations::bidirectional_attention_backward(dx, d, x, o, l, n, kind);
    }
  }
};

struct Results {
  std::vector<float> out, d_qkv;
};

template <class T>
Results results(const Operands<T>& on, const Machine& machine) {
  kernels::require_success(cudaStreamSynchronize(machine.stream()), "attention");
  return {widened(on.out.host()), widened(on.d_qkv.host())};
}

Inputs inputs_of(const Problem& p) {
  Inputs in{kernels::random_values(3 * p.rows(), 1), kernels::random_values(p.rows(), 2)};
  padding_of(p).fill(in.d_out, 1000);  // reaches nothing
  return in;
}

Results reference(const Problem& p, const Inputs& in) {
  Results r{std::vector<float>(in.d_out.size()), std::vector<float>(in.qkv.size())};
  std::vector<float> lse(static_cast<std::size_t>(p.row_values())), d_out = in.d_out;
  padding_of(p).fill(d_out, 0);
  const auto lengths = lengths_of(p);
  kernels::attention_reference(in.qkv.data(), p.padded ? lengths.data() : nullptr, d_out.data(),
                               r.out.data(), lse.data(), r.d_qkv.data(),
                               {p.batch, p.tokens, p.heads, p.head_size, p.causal});
  return r;
}

void check(const Results& got, const Results& want, const Problem& p, double tolerance) {
  CHECK(relative_error(got.out, want.out) <= tolerance);
  CHECK(relative_error(got.d_qkv, want.d_qkv) <= 1.5 * tolerance);
  kernels::check_zeros(padding_of(p), got.out, got.d_qkv);
}

template <class T>
void compare(const Problem& p, AttentionKind kind, const Inputs& in, const Results& want,
             double tolerance) {
  INFO(describe(p, kind));
  const Machine machine(p, kind);
  const Operands<T> on(p, in);
  on.both(p, kind, machine.gpu());
  const Results first = results(on, machine);
  check(first, want, p, tolerance);
  if (!p.deterministic) return;
  for (int repeat = 0; repeat < 5; ++repeat) {
    on.both(p, kind, machine.gpu());
    const Results again = results(on, machine);
    CHECK(again.out == first.out);
    CHECK(again.d_qkv == first.d_qkv);
  }
}

}  // namespace

TEST_CASE(
    "flash, efficient and math equal the reference for all lengths, head sizes, masks and types",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  struct Size {
    std::int64_t batch, tokens, heads, head_size;
  };
  for (const Size s : {Size{3, 2, 2, 64},
                       {3, 17, 3, 64},
                       {3, 64, 2, 80},
                       {2, 65, 2, 128},
                       {3, 130, 2, 36},
                       {1, 40, 1, 200},
                       {4, 160, 3, 32},
                       {1, 512, 2, 64}})
    for (const auto& [causal, padded] : {std::pair{true, false}, {false, true}, {false, false}})
      for (const bool deterministic : {false, true}) {
        Problem p{s.batch, s.tokens, s.heads,    s.head_size,
                  causal,  padded,   DType::f32, deterministic};
        const Inputs in = inputs_of(p);
        const Results want = reference(p, in);
        for (const AttentionKind kind :
             {AttentionKind::flash, AttentionKind::efficient, AttentionKind::math})
          for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
            p.type = type;
            if (!options::unfit_attention(kind, type, s.head_size, s.tokens).empty()) continue;
            if (type == DType::f32)
              compare<float>(p, kind, in, want, 1e-5);
            else if (type == DType::bf16)
              compare<Bf16>(p, kind, in, want, kind == AttentionKind::math ? 1.2e-2 : 8e-3);
            else
              compare<Fp16>(p, kind, in, want, 2e-3);
          }
      }
}

TEST_CASE("large batches keep within what is planned for them", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const AttentionKind kind :
       {AttentionKind::flash, AttentionKind::efficient, AttentionKind::math})
    for (const DType type : {DType::bf16, DType::f32})
      for (const bool deterministic : {false, true})
        for (const bool padded : {false, true}) {
          const Problem p{8, 1000, 12, 64, !padded, padded, type, deterministic};
          if (!options::unfit_attention(kind, type, 64, 1000).empty()) continue;
          INFO(describe(p, kind));
          const Inputs in = inputs_of(p);
          const Machine machine(p, kind);
          if (type == DType::f32) {
            const Operands<float> on(p, in);
            on.both(p, kind, machine.gpu());
            CHECK(std::isfinite(relative_error(results(on, machine).d_qkv, in.qkv)));
          } else {
            const Operands<Bf16> on(p, in);
            on.both(p, kind, machine.gpu());
            CHECK(std::isfinite(relative_error(results(on, machine).d_qkv, in.qkv)));
          }
        }
}

TEST_CASE("a captured attention of LibTorch's gives what the uncaptured one gave, again and again",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const AttentionKind kind :
       {AttentionKind::flash, AttentionKind::efficient, AttentionKind::math})
    for (const bool padded : {false, true}) {
      const Problem p{4, 256, 2, 64, !padded, padded, DType::bf16, true};
      INFO(describe(p, kind));
      const Machine machine(p, kind);
      const Operands<Bf16> on(p, inputs_of(p));
      on.both(p, kind, machine.gpu());
      const Results want = results(on, machine);
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t replay = nullptr;
      kernels::require_success(
          cudaStreamBeginCapture(machine.stream(), cudaStreamCaptureModeThreadLocal), "capture");
      on.both(p, kind, machine.gpu());
      kernels::require_success(cudaStreamEndCapture(machine.stream(), &graph), "capture");
      kernels::require_success(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
      for (int times = 0; times < 3; ++times) {
        kernels::require_success(
            cudaMemset(on.out.data(), 0, static_cast<std::size_t>(p.rows()) * 2), "memset");
        kernels::require_success(
            cudaMemset(on.d_qkv.data(), 0, static_cast<std::size_t>(3 * p.rows()) * 2), "memset");
        // as other instructions leave it
        kernels::require_success(
            cudaMemset(machine.gpu().space.workspace, 0xFF,
                       static_cast<std::size_t>(machine.gpu().space.workspace_bytes)),
            "memset");
        kernels::require_success(cudaDeviceSynchronize(), "memset");
        kernels::require_success(cudaGraphLaunch(replay, machine.stream()), "launch");
        const Results got = results(on, machine);
        CHECK(got.out == want.out);
        CHECK(got.d_qkv == want.d_qkv);
      }
      cudaGraphExecDestroy(replay);
      cudaGraphDestroy(graph);
    }
}

}  // namespace torch_attention_test
