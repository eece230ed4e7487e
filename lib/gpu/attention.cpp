#include "gpu/attention.hpp"
#include "gpu/cudnn_attention.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/attention/attention.hpp"

namespace trainx::gpu {

namespace {

template <class F>
void with_element(DType dtype, F f) {
  if (dtype == DType::f32) f(float{});
  else if (dtype == DType::f16) f(kernels::Fp16{});
  else f(kernels::Bf16{});
}

kernels::AttentionSize size_of(const AttentionProblem& p) { return {p.batch, p.tokens, p.heads, p.head_size, p.causal, p.tf32}; }
std::int64_t delta_bytes(const AttentionProblem& p) { return p.batch * p.heads * p.tokens * 4; }

void check(const AttentionProblem& p, const std::int32_t* lengths) {
  const bool sizes = p.batch >= 0 && p.tokens >= 0 && p.heads > 0 && p.head_size > 0 && p.head_size <= kernels::largest_attention_head;
  if (!sizes || (size_of(p.dtype) != 2 && p.dtype != DType::f32)) throw InternalError("attention " + describe(p) + " is none");
  if (p.padded != (lengths != nullptr)) throw InternalError("attention " + describe(p) + ": lengths belong to padded problems alone");
}

}  // namespace

std::string describe(const AttentionProblem& p) {
  return "B " + std::to_string(p.batch) + " T " + std::to_string(p.tokens) + " H " + std::to_string(p.heads) + " D " + std::to_string(p.head_size) + " " +
         std::string(name_of(p.dtype)) + (p.causal ? " causal" : "") + (p.padded ? " padded" : "") + (p.deterministic ? " deterministic" : "") + (p.tf32 ? " tf32" : "");
}

AttentionPath path_of(const AttentionProblem& p) {
  const bool library = p.dtype != DType::f32 && p.tokens > 1 && p.head_size % 8 == 0 && p.head_size <= 128;
  return library ? AttentionPath::cudnn : AttentionPath::kernels;
}

struct Attention::State {
  CudnnAttention& cudnn() {
    if (!cudnn_) cudnn_ = std::make_unique<CudnnAttention>();
    return *cudnn_;
  }

 private:
  std::unique_ptr<CudnnAttention> cudnn_;
};

Attention::Attention() : state_(std::make_unique<State>()) {}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;

std::int64_t Attention::forward_workspace_bytes(const AttentionProblem& p) {
  return p.batch > 0 && path_of(p) == AttentionPath::cudnn ? state_->cudnn().forward_workspace_bytes(p) : 0;
}
std::int64_t Attention::backward_workspace_bytes(const AttentionProblem& p) {
  return p.batch > 0 && path_of(p) == AttentionPath::cudnn ? state_->cudnn().backward_workspace_bytes(p) : delta_bytes(p);
}

void Attention::forward(const AttentionProblem& p, const void* qkv, const std::int32_t* lengths, void* out, float* lse, const StreamSpace& space) {
  check(p, lengths);
  if (p.batch == 0 || p.tokens == 0) return;
  const std::string doing = "attention " + describe(p) + " failed";
  if (path_of(p) == AttentionPath::cudnn) {
    state_->cudnn().forward(p, qkv, lengths, out, lse, space);
    if (p.padded) require(kernels::zero_padding(static_cast<std::uint16_t*>(out), lengths, p.batch, p.tokens, p.heads * p.head_size, space.stream), doing);
  } else {
    with_element(p.dtype, [&]<class T>(T) {
      require(kernels::attention_forward(static_cast<const T*>(qkv), lengths, static_cast<T*>(out), lse, size_of(p), space.stream), doing);
    });
  }
}

void Attention::backward(const AttentionProblem& p, const void* qkv, const std::int32_t* lengths, const void* out, const float* lse, const void* d_out, void* d_qkv,
                         const StreamSpace& space) {
  check(p, lengths);
  if (p.batch == 0 || p.tokens == 0) return;
  const std::string doing = "attention " + describe(p) + " backward failed";
  if (path_of(p) == AttentionPath::cudnn) {
    state_->cudnn().backward(p, qkv, lengths, out, lse, d_out, d_qkv, space);
    if (p.padded) require(kernels::zero_padding(static_cast<std::uint16_t*>(d_qkv), lengths, p.batch, p.tokens, 3 * p.heads * p.head_size, space.stream), doing);
    return;
  }
  if (space.workspace_bytes < delta_bytes(p)) throw InternalError("attention " + describe(p) + " needs a workspace of " + std::to_string(delta_bytes(p)) + " bytes");
  const auto delta = static_cast<float*>(space.workspace);
  with_element(p.dtype, [&]<class T>(T) {
    require(kernels::attention_backward(static_cast<const T*>(qkv), lengths, static_cast<const T*>(out), lse, static_cast<const T*>(d_out), static_cast<T*>(d_qkv), delta, size_of(p),
                                        space.stream), doing);
  });
}

}  // namespace trainx::gpu
