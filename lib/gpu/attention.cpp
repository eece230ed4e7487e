#include "gpu/attention.hpp"
#include "core/cudnn_heads.hpp"
#include "core/hopper_kernels.hpp"
#include "gpu/attention_workspace.hpp"
#include "gpu/cudnn_attention.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/hopper_attention.hpp"
#include "kernels/attention/across_attention.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/biased_attention.hpp"
#include "kernels/attention/cached_attention.hpp"
#include "kernels/attention/document_attention.hpp"
#include "kernels/attention/grouped_attention.hpp"
#include "kernels/attention/nearby_attention.hpp"
#include "kernels/rows/columns.hpp"

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

/// Of a biased problem: its biases by distance, written where `s` has room for them.
template <class T>
kernels::ScoreBiases expanded(const AttentionProblem& p, const AttentionInputs& in,
                              const Scratch& s, cudaStream_t stream) {
  if (!p.biased) return {};
  const bool by_distance = in.bias_table || in.alibi;
  kernels::ScoreBiases b;
  b.lowest = 1 - p.tokens;
  b.distances = 2 * p.tokens - 1;
  if (by_distance) b.by_distance = s.by_distance;
  if (in.bias_table) b.buckets = s.buckets;
  if (in.sinks) b.sinks = s.sinks;
  require(kernels::expand_biases(
              kernels::BiasSource<T>{in.buckets, static_cast<const T*>(in.bias_table), in.alibi,
                                     static_cast<const T*>(in.sinks), in.first_head, in.all_heads,
                                     in.bias_columns},
              p.tokens, p.heads, by_distance ? s.by_distance : nullptr,
              in.bias_table ? s.buckets : nullptr, in.sinks ? s.sinks : nullptr, stream),
          "biases of attention " + describe(p));
  return b;
}

kernels::AttentionSize size_of(const AttentionProblem& p, const AttentionInputs& in) {
  return {p.batch,
          p.tokens,
          p.heads,
          p.head_size,
          p.causal,
          p.tf32,
          p.key_value_heads,
          p.window,
          p.scale,
          p.soft_cap,
          in.dropout,
          {},
          {p.memory_tokens, in.memory}};
}

void widen_sinks(const AttentionProblem& p, const AttentionInputs& in, const Sinks& to,
                 cudaStream_t stream) {
  with_element(p.dtype, [&]<class T>(T) {
    require(kernels::expand_biases(kernels::BiasSource<T>{.sinks = static_cast<const T*>(in.sinks)},
                                   p.tokens, p.heads, nullptr, nullptr, to.sinks, stream),
            "sinks of attention " + describe(p));
  });
}

/// Values of another width beside queries and keys of the same.
template <class T>
void copy_packed(const AttentionProblem& to_size, void* to, const AttentionProblem& from_size,
                 const void* from, cudaStream_t stream) {
  const std::int64_t rows = to_size.batch * to_size.tokens,
                     wide = (to_size.heads + to_size.of_keys()) * to_size.head_size;
  auto* const t = static_cast<T*>(to);
  const auto* const f = static_cast<const T*>(from);
  const auto copy = [&](std::int64_t first, std::int64_t to_width, std::int64_t from_width,
                        std::int64_t heads) {
    require(kernels::copy_heads<T>({t, to_size.row(), first, to_width},
                                   {f, from_size.row(), first, from_width}, rows, heads, stream),
            "values of another width");
  };
  copy(0, wide, wide, 1);
  copy(wide, to_size.of_values(), from_size.of_values(), to_size.of_keys());
}
/// Rows of results, [B, T, H, width].
template <class T>
void copy_result(std::int64_t rows, std::int64_t heads, void* to, std::int64_t to_width,
                 const void* from, std::int64_t from_width, cudaStream_t stream) {
  require(kernels::copy_heads<T>({static_cast<T*>(to), heads * to_width, 0, to_width},
                                 {static_cast<const T*>(from), heads * from_width, 0, from_width},
                                 rows, heads, stream),
          "results of another width");
}

void check(const AttentionProblem& p, const AttentionInputs& in) {
  const bool sizes = p.batch >= 0 && p.tokens >= 0 && p.heads > 0 && p.head_size > 0 &&
                     p.head_size <= kernels::largest_attention_head;
  if (!sizes || (size_of(p.dtype) != 2 && p.dtype != DType::f32))
    throw InternalError("attention " + describe(p) + " is none");
  if (p.is_grouped() && ((p.causal ? p.padded : p.soft_cap > 0) || p.heads % p.of_keys() != 0))
    throw InternalError("attention " + describe(p) +
                        " has grouped heads or other scores, and what goes with none of them");
  if (p.dropped != static_cast<bool>(in.dropout))
    throw InternalError("attention " + describe(p) + ": dropout belongs to dropped problems alone");
  if (p.biased != (in.bias_table || in.alibi || in.sinks) ||
      (p.sinks_alone && (!p.biased || in.bias_table || in.alibi)))
    throw InternalError("attention " + describe(p) + ": biases belong to biased problems alone");
  if ((p.memory_tokens > 0) != (in.memory != nullptr))
    throw InternalError("attention " + describe(p) +
                        ": a memory belongs to problems with its size");
  if (p.value_size > 0 && (p.value_size >= p.head_size || p.memory_tokens > 0))
    throw InternalError("attention " + describe(p) + " has values that cannot be widened");
  if (p.padded && p.documents)
    throw InternalError("attention " + describe(p) +
                        " is padded by its documents or by its lengths, not both");
  if ((p.padded || p.documents) != (in.seen != nullptr))
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
         (p.dropped ? " dropped" : "") +
         (p.sinks_alone ? " sinks"
          : p.biased    ? " biased"
                        : "") +
         (p.memory_tokens > 0 ? " memory " + std::to_string(p.memory_tokens) : "") +
         (p.value_size > 0 ? " values " + std::to_string(p.value_size) : "");
}

namespace {

int capability_of_device() {
  int device = 0, major = 0, minor = 0;
  const bool told =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  if (!told) cudaGetLastError();  // it is no later call's
  return told ? major * 10 + minor : 0;
}

}  // namespace

AttentionPath path_of(const AttentionProblem& p) {
  const bool usual = p.causal ? !p.padded : !p.is_grouped();  // nearby_attention.hpp has the others
  const bool sinks_at_most = !p.biased || (p.sinks_alone && p.causal && !p.dropped);
  if (usual && p.soft_cap == 0 && sinks_at_most && p.memory_tokens == 0 &&
      is_by_hopper({p.compute_capability, p.dtype, p.tokens, p.head_size, p.window, p.documents,
                    p.causal, p.dropped}))
    return AttentionPath::hopper;
  const bool library = !p.documents && (p.causal || !p.is_grouped()) && p.dtype != DType::f32 &&
                       p.tokens > 1 && p.head_size % 8 == 0 &&
                       p.head_size <= largest_cudnn_head(p.compute_capability) && p.soft_cap == 0 &&
                       !p.dropped && !p.biased && p.memory_tokens == 0;
  return library ? AttentionPath::cudnn : AttentionPath::kernels;
}

std::string_view name_of(AttentionPath path) {
  switch (path) {
    case AttentionPath::cudnn: return "cudnn";
    case AttentionPath::hopper: return "hopper";
    case AttentionPath::kernels: return "kernels";
  }
  return "";
}

struct Attention::State {
  int compute_capability = capability_of_device();

  CudnnAttention& cudnn() {
    if (!cudnn_) cudnn_ = std::make_unique<CudnnAttention>();
    return *cudnn_;
  }

 private:
  std::unique_ptr<CudnnAttention> cudnn_;
};

bool can_sum_columns(const AttentionProblem& p) {
  return path_of(p) == AttentionPath::hopper && p.head_size == 64 && !p.padded && !p.documents &&
         !p.is_grouped() && !p.biased && !p.dropped && p.value_size == 0;
}
AttentionColumnSums column_sums_in(void* workspace, const AttentionProblem& p) {
  return hopper::column_sums_in(workspace, p);
}

Attention::Attention() : state_(std::make_unique<State>()) {}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;

int Attention::compute_capability() const { return state_->compute_capability; }

std::int64_t Attention::forward_workspace_bytes(const AttentionProblem& p) {
  if (p.value_size > 0) {
    AttentionProblem wide = p;
    wide.value_size = 0;
    return widened_bytes(p, false) + forward_workspace_bytes(wide);
  }
  const AttentionPath path = path_of(p);
  if (p.batch == 0 || path == AttentionPath::kernels) return scratch_bytes(p, false);
  return path == AttentionPath::cudnn ? state_->cudnn().forward_workspace_bytes(p)
                                      : sink_bytes(p, false);
}
std::int64_t Attention::backward_workspace_bytes(const AttentionProblem& p) {
  if (p.value_size > 0) {
    AttentionProblem wide = p;
    wide.value_size = 0;
    return widened_bytes(p, true) + backward_workspace_bytes(wide);
  }
  const AttentionPath path = path_of(p);
  if (p.batch == 0 || path == AttentionPath::kernels) return scratch_bytes(p, true);
  if (path == AttentionPath::hopper)
    return sink_bytes(p, true) + hopper::backward_workspace_bytes(p);
  return state_->cudnn().backward_workspace_bytes(p);
}

void Attention::forward(const AttentionProblem& p, const AttentionInputs& in, void* out, float* lse,
                        const StreamSpace& space) {
  check(p, in);
  if (p.batch == 0 || p.tokens == 0) return;
  if (p.value_size > 0) {
    const Widened w = widened_in(p, space, false);
    with_element(p.dtype, [&]<class T>(T) {
      copy_packed<T>(w.problem, w.qkv, p, in.qkv, space.stream);
      AttentionInputs wide = in;
      wide.qkv = w.qkv;
      forward(w.problem, wide, w.out, lse, w.space);
      copy_result<T>(p.batch * p.tokens, p.heads, out, p.value_size, w.out, p.head_size,
                     space.stream);
    });
    return;
  }
  const std::string doing = "attention " + describe(p) + " failed";
  const AttentionPath path = path_of(p);
  if (path == AttentionPath::hopper) {
    const Sinks sinks = sinks_of(p, space, false);
    if (in.sinks) widen_sinks(p, in, sinks, space.stream);
    return hopper::forward(p, in, sinks.sinks, out, lse, space.stream);
  }
  if (path == AttentionPath::cudnn) {
    state_->cudnn().forward(p, in.qkv, in.seen, out, lse, space);
    if (p.padded)
      require(kernels::zero_padding(static_cast<std::uint16_t*>(out), in.seen, p.batch, p.tokens,
                                    p.heads * p.head_size, space.stream),
              doing);
    return;
  }
  const Scratch scratch = scratch_of(p, space, false);
  with_element(p.dtype, [&]<class T>(T) {
    kernels::AttentionSize size = size_of(p, in);
    size.biases = expanded<T>(p, in, scratch, space.stream);
    const auto forward = [&](auto... all) {
      return p.memory_tokens > 0           ? kernels::across_attention_forward(all...)
             : p.biased                    ? kernels::biased_attention_forward(all...)
             : p.is_grouped() && !p.causal ? kernels::nearby_attention_forward(all...)
             : p.is_grouped()              ? kernels::grouped_attention_forward(all...)
             : p.documents                 ? kernels::document_attention_forward(all...)
                                           : kernels::attention_forward(all...);
    };
    require(forward(static_cast<const T*>(in.qkv), in.seen, static_cast<T*>(out), lse, size,
                    space.stream),
            doing);
  });
}

namespace {

/// What backward left in scratch becomes gradients of the biases' parameters.
void sum_bias_gradients(const AttentionProblem& p, const AttentionInputs& in, const Scratch& s,
                        const float* lse, const AttentionGradients& to, const StreamSpace& space,
                        const std::string& doing) {
  if (to.bias_table.sum)
    require(kernels::sum_bias_gradients(s.d_buckets, p.batch, p.tokens, p.heads, in.buckets.count,
                                        to.bias_table.sum,
                                        in.bias_columns > 0 ? in.bias_columns : p.heads,
                                        to.bias_table.accumulate, space.stream),
            doing);
  if (to.sinks.sum)
    require(kernels::sum_sink_gradients(s.sinks, lse, s.delta, p.batch, p.tokens, p.heads,
                                        to.sinks.sum, to.sinks.accumulate, space.stream),
            doing);
}

}  // namespace

void Attention::backward(const AttentionProblem& p, const AttentionInputs& in, const void* out,
                         const float* lse, const void* d_out, const AttentionGradients& to,
                         const StreamSpace& space) {
  check(p, in);
  if (p.batch == 0 || p.tokens == 0) return;
  if (p.value_size > 0) {
    const Widened w = widened_in(p, space, true);
    const std::int64_t rows = p.batch * p.tokens;
    with_element(p.dtype, [&]<class T>(T) {
      copy_packed<T>(w.problem, w.qkv, p, in.qkv, space.stream);
      copy_result<T>(rows, p.heads, w.out, p.head_size, out, p.value_size, space.stream);
      copy_result<T>(rows, p.heads, w.d_out, p.head_size, d_out, p.value_size, space.stream);
      AttentionInputs wide = in;
      wide.qkv = w.qkv;
      AttentionGradients gradients = to;
      gradients.qkv = w.d_qkv;
      backward(w.problem, wide, w.out, lse, w.d_out, gradients, w.space);
      copy_packed<T>(p, to.qkv, w.problem, w.d_qkv, space.stream);
    });
    return;
  }
  const std::string doing = "attention " + describe(p) + " backward failed";
  const AttentionPath path = path_of(p);
  if (path == AttentionPath::hopper) {
    const Sinks sinks = sinks_of(p, space, true);
    hopper::backward(p, in, out, lse, d_out, to.qkv, to.sinks.sum ? sinks.delta : nullptr,
                     sinks.space);
    if (!to.sinks.sum) return;
    widen_sinks(p, in, sinks, space.stream);
    return require(
        kernels::sum_sink_gradients(sinks.sinks, lse, sinks.delta, p.batch, p.tokens, p.heads,
                                    to.sinks.sum, to.sinks.accumulate, space.stream),
        doing);
  }
  if (path == AttentionPath::cudnn) {
    state_->cudnn().backward(p, in.qkv, in.seen, out, lse, d_out, to.qkv, space);
    if (p.padded)
      require(kernels::zero_padding(static_cast<std::uint16_t*>(to.qkv), in.seen, p.batch, p.tokens,
                                    p.row(), space.stream),
              doing);
    return;
  }
  const Scratch scratch = scratch_of(p, space, true);
  float* const delta = scratch.delta;
  std::int32_t* const ends = scratch.ends;
  with_element(p.dtype, [&]<class T>(T) {
    const auto *x = static_cast<const T*>(in.qkv), *o = static_cast<const T*>(out),
               *d = static_cast<const T*>(d_out);
    auto* const dx = static_cast<T*>(to.qkv);
    kernels::AttentionSize size = size_of(p, in);
    size.memory.d_keys = to.memory;
    size.biases = expanded<T>(p, in, scratch, space.stream);
    if (to.bias_table.sum) size.biases.d_buckets = scratch.d_buckets;
    const auto call = [&](auto kernel, auto... more) {
      return kernel(x, in.seen, o, lse, d, dx, delta, more..., size, space.stream);
    };
    require(p.memory_tokens > 0           ? call(kernels::across_attention_backward<T>)
            : p.biased                    ? call(kernels::biased_attention_backward<T>, ends)
            : p.is_grouped() && !p.causal ? call(kernels::nearby_attention_backward<T>)
            : p.is_grouped() ? kernels::grouped_attention_backward(x, in.seen, o, lse, d, dx, delta,
                                                                   ends, size, space.stream)
            : p.documents
                ? kernels::document_attention_backward(x, in.seen, o, lse, d, dx, delta, ends, size,
                                                       space.stream)
                : kernels::attention_backward(x, in.seen, o, lse, d, dx, delta, size, space.stream),
            doing);
  });
  sum_bias_gradients(p, in, scratch, lse, to, space, doing);
}

void Attention::cached(const AttentionProblem& p, const AttentionInputs& in, void* out,
                       std::int64_t n, const StreamSpace& space) {
  if (p.value_size > 0) {
    const Widened w = widened_in(p, space, false);
    with_element(p.dtype, [&]<class T>(T) {
      copy_packed<T>(w.problem, w.qkv, p, in.qkv, space.stream);
      AttentionInputs wide = in;
      wide.qkv = w.qkv;
      cached(w.problem, wide, w.out, n, w.space);
      copy_result<T>(n, p.heads, out, p.value_size, w.out, p.head_size, space.stream);
    });
    return;
  }
  const Scratch scratch = scratch_of(p, space, false);
  with_element(p.dtype, [&]<class T>(T) {
    const kernels::CachedAttentionSize size{p.tokens - n,
                                            n,
                                            p.heads,
                                            p.head_size,
                                            p.key_value_heads,
                                            p.window,
                                            p.scale,
                                            p.soft_cap,
                                            expanded<T>(p, in, scratch, space.stream)};
    require(kernels::cached_attention(static_cast<const T*>(in.qkv), static_cast<T*>(out), size,
                                      space.stream),
            "attention over a cache");
  });
}

}  // namespace trainx::gpu
