#include "gpu/attention.hpp"
#include "gpu/cudnn_attention.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/document_attention.hpp"
#include "kernels/attention/grouped_attention.hpp"
#include "kernels/attention/nearby_attention.hpp"

namespace trainx::gpu {

namespace {

template <class F>
void with_element(DType dtype, F f) {
  if (dtype == DType::f32)
    f(float{});
  else if (dtype == DType::f16)
    f(kernels::Fp16{});
  else
    f(kernels::Bf16{});
}

kernels::AttentionSize size_of(const AttentionProblem& p, const kernels::FusedDropout& dropout) {
  return {p.batch,           p.tokens, p.heads, p.head_size, p.causal, p.tf32,
          p.key_value_heads, p.window, p.scale, p.soft_cap,  dropout};
}
std::int64_t delta_bytes(const AttentionProblem& p) { return p.batch * p.heads * p.tokens * 4; }

std::int64_t ends_bytes(const AttentionProblem& p) {
  return p.documents ? p.batch * p.tokens * 4 : 0;
}

void check(const AttentionProblem& p, const std::int32_t* seen,
           const kernels::FusedDropout& dropout) {
  const bool sizes = p.batch >= 0 && p.tokens >= 0 && p.heads > 0 && p.head_size > 0 &&
                     p.head_size <= kernels::largest_attention_head;
  if (!sizes || (size_of(p.dtype) != 2 && p.dtype != DType::f32))
    throw InternalError("attention " + describe(p) + " is none");
  if (p.is_grouped() && ((p.causal ? p.padded : p.soft_cap > 0) || p.heads % p.of_keys() != 0))
    throw InternalError("attention " + describe(p) +
                        " has grouped heads or other scores, and what goes with none of them");
  if (p.dropped != static_cast<bool>(dropout))
    throw InternalError("attention " + describe(p) + ": dropout belongs to dropped problems alone");
  if (p.padded && p.documents)
    throw InternalError("attention " + describe(p) +
                        " is padded by its documents or by its lengths, not both");
  if ((p.padded || p.documents) != (seen != nullptr))
    throw InternalError(
        "attention " + describe(p) +
        ": lengths belong to padded problems alone, starts to those with documents");
}

}  // namespace

std::string describe(const AttentionProblem& p) {
  return "B " + std::to_string(p.batch) + " T " + std::to_string(p.tokens) + " H " +
         std::to_string(p.heads) + " D " + std::to_string(p.head_size) + " " +
         std::string(name_of(p.dtype)) + (p.causal ? " causal" : "") + (p.padded ? " padded" : "") +
         (p.documents ? " documents" : "") + (p.deterministic ? " deterministic" : "") +
         (p.tf32 ? " tf32" : "") +
         (p.of_keys() != p.heads ? " K " + std::to_string(p.key_value_heads) : "") +
         (p.window > 0 ? " window " + std::to_string(p.window) : "") +
         (p.scale > 0 ? " scaled" : "") + (p.soft_cap > 0 ? " capped" : "") +
         (p.dropped ? " dropped" : "");
}

AttentionPath path_of(const AttentionProblem& p) {
  const bool library = !p.documents && (p.causal || !p.is_grouped()) && p.dtype != DType::f32 &&
                       p.tokens > 1 && p.head_size % 8 == 0 && p.head_size <= 128 &&
                       p.soft_cap == 0 && !p.dropped;
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
  return p.batch > 0 && path_of(p) == AttentionPath::cudnn
             ? state_->cudnn().forward_workspace_bytes(p)
             : 0;
}
std::int64_t Attention::backward_workspace_bytes(const AttentionProblem& p) {
  return p.batch > 0 && path_of(p) == AttentionPath::cudnn
             ? state_->cudnn().backward_workspace_bytes(p)
             : delta_bytes(p) + ends_bytes(p);
}

void Attention::forward(const AttentionProblem& p, const void* qkv, const std::int32_t* seen,
                        void* out, float* lse, const StreamSpace& space,
                        const kernels::FusedDropout& dropout) {
  check(p, seen, dropout);
  if (p.batch == 0 || p.tokens == 0) return;
  const std::string doing = "attention " + describe(p) + " failed";
  if (path_of(p) == AttentionPath::cudnn) {
    state_->cudnn().forward(p, qkv, seen, out, lse, space);
    if (p.padded)
      require(kernels::zero_padding(static_cast<std::uint16_t*>(out), seen, p.batch, p.tokens,
                                    p.heads * p.head_size, space.stream),
              doing);
  } else {
    with_element(p.dtype, [&]<class T>(T) {
      const auto forward = [&](auto... all) {
        return p.is_grouped() && !p.causal ? kernels::nearby_attention_forward(all...)
               : p.is_grouped()            ? kernels::grouped_attention_forward(all...)
               : p.documents               ? kernels::document_attention_forward(all...)
                                           : kernels::attention_forward(all...);
      };
      require(forward(static_cast<const T*>(qkv), seen, static_cast<T*>(out), lse,
                      size_of(p, dropout), space.stream),
              doing);
    });
  }
}

void Attention::backward(const AttentionProblem& p, const void* qkv, const std::int32_t* seen,
                         const void* out, const float* lse, const void* d_out, void* d_qkv,
                         const StreamSpace& space, const kernels::FusedDropout& dropout) {
  check(p, seen, dropout);
  if (p.batch == 0 || p.tokens == 0) return;
  const std::string doing = "attention " + describe(p) + " backward failed";
  if (path_of(p) == AttentionPath::cudnn) {
    state_->cudnn().backward(p, qkv, seen, out, lse, d_out, d_qkv, space);
    if (p.padded)
      require(kernels::zero_padding(static_cast<std::uint16_t*>(d_qkv), seen, p.batch, p.tokens,
                                    p.row(), space.stream),
              doing);
    return;
  }
  const std::int64_t needed = delta_bytes(p) + ends_bytes(p);
  if (space.workspace_bytes < needed)
    throw InternalError("attention " + describe(p) + " needs a workspace of " +
                        std::to_string(needed) + " bytes");
  const auto delta = static_cast<float*>(space.workspace);
  const auto ends =
      reinterpret_cast<std::int32_t*>(static_cast<char*>(space.workspace) + delta_bytes(p));
  with_element(p.dtype, [&]<class T>(T) {
    const auto *x = static_cast<const T*>(qkv), *o = static_cast<const T*>(out),
               *d = static_cast<const T*>(d_out);
    auto* const dx = static_cast<T*>(d_qkv);
    require(
        p.is_grouped() && !p.causal
            ? kernels::nearby_attention_backward(x, seen, o, lse, d, dx, delta, size_of(p, dropout),
                                                 space.stream)
        : p.is_grouped() ? kernels::grouped_attention_backward(x, seen, o, lse, d, dx, delta, ends,
                                                               size_of(p, dropout), space.stream)
        : p.documents    ? kernels::document_attention_backward(x, seen, o, lse, d, dx, delta, ends,
                                                                size_of(p, dropout), space.stream)
                         : kernels::attention_backward(x, seen, o, lse, d, dx, delta,
                                                       size_of(p, dropout), space.stream),
        doing);
  });
}

}  // namespace trainx::gpu
