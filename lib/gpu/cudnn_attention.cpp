#include "gpu/cudnn_attention.hpp"
#include <dlfcn.h>
#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "gpu/cudnn_version.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/library.hpp"

namespace trainx::gpu {

namespace {
/// The frontend opens libraries under names of its own: the CUDA runtime is the one that this
/// program is linked to, also where another major version is installed, and the driver's library
/// has its plain name only where it can be developed against.
void* open_for_frontend(const char* name, int flags) {
  const std::string_view asked(name);
  if (asked == "libcudart.so.12") return nullptr;
  return ::dlopen(asked == "libcuda.so" ? "libcuda.so.1" : name, flags);
}
}  // namespace

}  // namespace trainx::gpu

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#define dlopen(name, flags) trainx::gpu::open_for_frontend(name, flags)
#include <cudnn_frontend.h>
#undef dlopen

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace trainx::gpu {

namespace fe = cudnn_frontend;

namespace {

enum Uid : std::int64_t {
  query = 1,
  key,
  value,
  output,
  statistics,
  d_output,
  d_query,
  d_key,
  d_value,
  length
};

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Addresses = std::unordered_map<std::int64_t, void*>;

/// What is asked of the library for some samples of a batch.
struct Plan {
  AttentionProblem problem;
  bool backward;
  std::shared_ptr<fe::graph::Graph> graph;
};

/// The frontend returns most of its errors and throws others.
template <class Call>
void require(const Call& call, const AttentionProblem& p, const char* doing) {
  std::string words;
  try {
    fe::error_t error = call();
    if (error.is_good()) return;
    words = error.get_message();
  } catch (const std::runtime_error& error) { words = error.what(); }
  throw_library_error(ExitCode::unavailable,
                      "attention " + describe(p) + ": cuDNN cannot " + doing + " (" + words + ")");
}

std::vector<std::int64_t> dims(const AttentionProblem& p) {
  return {p.batch, p.heads, p.tokens, p.head_size};
}
std::vector<std::int64_t> key_dims(const AttentionProblem& p) {
  return {p.batch, p.of_keys(), p.tokens, p.head_size};
}
// One of q, k, v in [B, T, H + 2 K, D]; out in [B, T, H, D].
std::vector<std::int64_t> packed_strides(const AttentionProblem& p) {
  return {p.tokens * p.row(), p.head_size, p.row(), 1};
}
/// Bytes from q to k, and from k to v.
std::int64_t query_bytes(const AttentionProblem& p) { return p.heads * p.head_size * 2; }
std::int64_t key_bytes(const AttentionProblem& p) { return p.of_keys() * p.head_size * 2; }
std::vector<std::int64_t> out_strides(const AttentionProblem& p) {
  const std::int64_t row = p.heads * p.head_size;
  return {p.tokens * row, p.head_size, row, 1};
}

Tensor tensor(fe::graph::Graph& graph, Uid uid, const std::vector<std::int64_t>& dim,
              const std::vector<std::int64_t>& stride, fe::DataType_t type) {
  return graph.tensor(
      fe::graph::Tensor_attributes().set_uid(uid).set_dim(dim).set_stride(stride).set_data_type(
          type));
}
Tensor statistics_tensor(fe::graph::Graph& graph, const AttentionProblem& p) {
  return tensor(graph, statistics, {p.batch, p.heads, p.tokens, 1},
                {p.heads * p.tokens, p.tokens, 1, 1}, fe::DataType_t::FLOAT);
}
void give(const Tensor& result, Uid uid, const std::vector<std::int64_t>& dim,
          const std::vector<std::int64_t>& stride, fe::DataType_t type) {
  result->set_output(true).set_uid(uid).set_dim(dim).set_stride(stride).set_data_type(type);
}

/// Options that forward and backward share.
template <class Attributes>
void mask(Attributes& attributes, fe::graph::Graph& graph, const AttentionProblem& p) {
  attributes.set_attn_scale(
      static_cast<float>(p.scale > 0 ? p.scale : 1 / std::sqrt(static_cast<double>(p.head_size))));
  if (p.causal)
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
        .set_diagonal_band_right_bound(0);
  // keys with key + window > query: the last `window` up to the query's own
  if (p.window > 0 && p.window < p.tokens)
    attributes.set_diagonal_band_left_bound(static_cast<int>(p.window));
  if (p.padded) {
    const Tensor lengths =
        tensor(graph, length, {p.batch, 1, 1, 1}, {1, 1, 1, 1}, fe::DataType_t::INT32);
    attributes.set_padding_mask(true).set_seq_len_q(lengths).set_seq_len_kv(lengths);
  }
}

fe::DataType_t element_of(const AttentionProblem& p) {
  return p.dtype == DType::f16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
}

void describe_forward(fe::graph::Graph& graph, const AttentionProblem& p) {
  const auto packed = packed_strides(p);
  const auto element = element_of(p);
  fe::graph::SDPA_attributes attributes;
  attributes.set_name("attention").set_generate_stats(true);
  mask(attributes, graph, p);
  auto [out, lse] = graph.sdpa(tensor(graph, query, dims(p), packed, element),
                               tensor(graph, key, key_dims(p), packed, element),
                               tensor(graph, value, key_dims(p), packed, element), attributes);
  give(out, output, dims(p), out_strides(p), element);
  give(lse, statistics, {p.batch, p.heads, p.tokens, 1}, {p.heads * p.tokens, p.tokens, 1, 1},
       fe::DataType_t::FLOAT);
}

void describe_backward(fe::graph::Graph& graph, const AttentionProblem& p) {
  const auto packed = packed_strides(p), plain = out_strides(p);
  const auto element = element_of(p);
  fe::graph::SDPA_backward_attributes attributes;
  attributes.set_name("attention_backward").set_deterministic_algorithm(p.deterministic);
  mask(attributes, graph, p);
  auto [dq, dk, dv] = graph.sdpa_backward(tensor(graph, query, dims(p), packed, element),
                                          tensor(graph, key, key_dims(p), packed, element),
                                          tensor(graph, value, key_dims(p), packed, element),
                                          tensor(graph, output, dims(p), plain, element),
                                          tensor(graph, d_output, dims(p), plain, element),
                                          statistics_tensor(graph, p), attributes);
  give(dq, d_query, dims(p), packed, element);
  give(dk, d_key, key_dims(p), packed, element);
  give(dv, d_value, key_dims(p), packed, element);
}

/// The deterministic backward keeps the gradients of all scores, B H T T elements of 2 bytes: it
/// goes through the batch in slices that need at most 256 MiB. Samples of each call.
std::int64_t samples_per_call(const AttentionProblem& p, bool backward) {
  if (!backward || !p.deterministic) return p.batch;
  const std::int64_t padded_tokens = (p.tokens + 63) / 64 * 64,
                     bytes = p.heads * padded_tokens * padded_tokens * 2;
  const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{256} << 20) / bytes),
                     calls = (p.batch + most - 1) / most;
  return (p.batch + calls - 1) / calls;
}

AttentionProblem of_samples(AttentionProblem p, std::int64_t samples, bool backward) {
  p.batch = samples;
  p.deterministic &= backward;
  return p;
}

template <class T>
T* offset(T* base, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base) +
                              static_cast<std::uintptr_t>(bytes));
}
// the frontend takes inputs and outputs alike
void* address(const void* p) { return const_cast<void*>(p); }

}  // namespace

struct CudnnAttention::State {
  State() : library("libcudnn.so.9", "attention") {
    require_cudnn_version(library.function<std::size_t()>("cudnnGetVersion")(), library.path());
    fe::cudnn_dlhandle = library.handle();
    const cudnnStatus_t status = fe::detail::create_handle(&handle);
    if (status != CUDNN_STATUS_SUCCESS)
      throw_library_error(ExitCode::unavailable, std::string("cuDNN cannot be set up (") +
                                                     fe::detail::get_error_string(status) + ")");
  }
  ~State() { fe::detail::destroy_handle(handle); }
  State(const State&) = delete;

  Plan& plan(const AttentionProblem& p, bool backward) {
    for (Plan& known : plans)
      if (known.problem == p && known.backward == backward) return known;
    const auto graph = std::make_shared<fe::graph::Graph>();
    graph->set_io_data_type(element_of(p))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto build = [&] {
      if (backward)
        describe_backward(*graph, p);
      else
        describe_forward(*graph, p);
      return graph->build(handle, {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
    };
    require(build, p, backward ? "compute the backward" : "compute the forward");
    plans.push_back({p, backward, graph});
    return plans.back();
  }

  std::int64_t workspace_bytes(const AttentionProblem& p, bool backward) {
    std::int64_t bytes = 0;
    for_each_call(p, backward, [&](Plan& call, std::int64_t) {
      bytes = std::max(bytes, call.graph->get_workspace_size());
    });
    return bytes;
  }

  template <class Use>
  void for_each_call(const AttentionProblem& p, bool backward, const Use& use) {
    const std::int64_t most = samples_per_call(p, backward);
    for (std::int64_t first = 0; first < p.batch; first += most)
      use(plan(of_samples(p, std::min(most, p.batch - first), backward), backward), first);
  }

  void execute(Plan& call, Addresses& addresses, const StreamSpace& space) {
    const AttentionProblem& p = call.problem;
    if (const std::int64_t needed = call.graph->get_workspace_size();
        needed > space.workspace_bytes)
      throw InternalError("attention " + describe(p) + " needs a workspace of " +
                          std::to_string(needed) + " bytes, not " +
                          std::to_string(space.workspace_bytes));
    if (fe::detail::set_stream(handle, space.stream) != CUDNN_STATUS_SUCCESS)
      throw_library_error(ExitCode::unavailable,
                          "attention " + describe(p) + ": cuDNN refuses the stream");
    require([&] { return call.graph->execute(handle, addresses, space.workspace); }, p, "run");
  }

  Library library;
  cudnnHandle_t handle = nullptr;
  std::vector<Plan> plans;
};

CudnnAttention::CudnnAttention() : state_(std::make_unique<State>()) {}
CudnnAttention::~CudnnAttention() = default;

std::int64_t CudnnAttention::forward_workspace_bytes(const AttentionProblem& p) {
  return state_->workspace_bytes(p, false);
}
std::int64_t CudnnAttention::backward_workspace_bytes(const AttentionProblem& p) {
  return state_->workspace_bytes(p, true);
}

void CudnnAttention::forward(const AttentionProblem& p, const void* qkv,
                             const std::int32_t* lengths, void* out, float* lse,
                             const StreamSpace& space) {
  void* const keys = offset(address(qkv), query_bytes(p));
  state_->for_each_call(p, false, [&](Plan& call, std::int64_t) {
    Addresses addresses{{query, address(qkv)},
                        {key, keys},
                        {value, offset(keys, key_bytes(p))},
                        {output, out},
                        {statistics, lse}};
    if (p.padded) addresses[length] = address(lengths);
    state_->execute(call, addresses, space);
  });
}

void CudnnAttention::backward(const AttentionProblem& p, const void* qkv,
                              const std::int32_t* lengths, const void* out, const float* lse,
                              const void* d_out, void* d_qkv, const StreamSpace& space) {
  // bytes of a sample
  const std::int64_t sample = p.tokens * query_bytes(p), packed = p.tokens * p.row() * 2;
  state_->for_each_call(p, true, [&](Plan& call, std::int64_t first) {
    void* const in = offset(address(qkv), first * packed);
    void* const gradient = offset(d_qkv, first * packed);
    void *const keys = offset(in, query_bytes(p)), *const d_keys = offset(gradient, query_bytes(p));
    Addresses addresses{{query, in},
                        {key, keys},
                        {value, offset(keys, key_bytes(p))},
                        {d_query, gradient},
                        {d_key, d_keys},
                        {d_value, offset(d_keys, key_bytes(p))},
                        {output, offset(address(out), first * sample)},
                        {d_output, offset(address(d_out), first * sample)},
                        {statistics, address(lse + first * p.heads * p.tokens)}};
    if (p.padded) addresses[length] = address(lengths + first);
    state_->execute(call, addresses, space);
  });
}

}  // namespace trainx::gpu
