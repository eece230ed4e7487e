// A warp a token: lane l holds experts l, l + 32 and so on, or chosen expert l, or group l.
#include "kernels/experts/router.hpp"
#include "kernels/launch.hpp"
#include <algorithm>
#include <climits>

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32, balance_blocks = 64, z_threads = 512;
constexpr unsigned all_lanes = 0xffffffffu;
// sums of weights of a sigmoid may be that small; the published routers add it, too
constexpr float least_sum = 1e-20f;

__device__ __forceinline__ int lane_of_thread() { return static_cast<int>(threadIdx.x % 32); }

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(all_lanes, x, distance);
  return x;
}
__device__ __forceinline__ float largest_of_warp(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = fmaxf(x, __shfl_xor_sync(all_lanes, x, distance));
  return x;
}

/// What is chosen by: a value that is NaN is larger than all.
__device__ __forceinline__ float key_of(float x) { return isnan(x) ? INFINITY : x; }

/// A candidate; index INT_MAX: none.
struct Best {
  float key;
  int index;
};
constexpr int none = INT_MAX;
__device__ __forceinline__ bool is_better(const Best& a, const Best& b) {
  return a.index != none &&
         (b.index == none || a.key > b.key || (a.key == b.key && a.index < b.index));
}
__device__ __forceinline__ Best best_of_warp(Best x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const Best other{__shfl_xor_sync(all_lanes, x.key, distance),
                     __shfl_xor_sync(all_lanes, x.index, distance)};
    if (is_better(other, x)) x = other;
  }
  return x;
}

/// A token's row of one value an expert. Lanes past the last expert hold none.
template <int slots>
struct ExpertRow {
  float at[slots];

  __device__ __forceinline__ static int expert(int slot) { return lane_of_thread() + 32 * slot; }
  __device__ __forceinline__ void load(const float* row, int experts) {
#pragma unroll
    for (int s = 0; s < slots; ++s) at[s] = expert(s) < experts ? row[expert(s)] : 0.0f;
  }
  __device__ __forceinline__ float largest(int experts) const {
    float most = -INFINITY;
#pragma unroll
    for (int s = 0; s < slots; ++s)
      if (expert(s) < experts) most = fmaxf(most, at[s]);
    return largest_of_warp(most);
  }
  __device__ __forceinline__ void to_softmax(int experts) {
    const float most = largest(experts);
    float sum = 0;
#pragma unroll
    for (int s = 0; s < slots; ++s)
      if (expert(s) < experts) sum += at[s] = expf(at[s] - most);
    sum = sum_of_warp(sum);
#pragma unroll
    for (int s = 0; s < slots; ++s) at[s] /= sum;
  }
  /// log(sum(exp)).
  __device__ __forceinline__ float log_sum(int experts) const {
    const float most = largest(experts);
    float sum = 0;
#pragma unroll
    for (int s = 0; s < slots; ++s)
      if (expert(s) < experts) sum += expf(at[s] - most);
    return most + logf(sum_of_warp(sum));
  }
  /// The best of the experts that `allowed(slot)` lets through.
  template <class Allowed>
  __device__ __forceinline__ Best best(Allowed allowed) const {
    Best found{0, none};
#pragma unroll
    for (int s = 0; s < slots; ++s)
      if (const Best candidate{at[s], expert(s)}; allowed(s) && is_better(candidate, found))
        found = candidate;
    return best_of_warp(found);
  }
};

template <class F>
__device__ __forceinline__ void for_tokens(std::int64_t tokens, F f) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
       n < tokens; n += step)
    f(n);
}

template <class T, int slots>
__global__ void __launch_bounds__(threads) router_scores_kernel(RouterScores<T> op) {
  const int experts = op.form.experts;
  for_tokens(op.tokens, [&](std::int64_t n) {
    float* const row = op.scores + n * experts;
    ExpertRow<slots> x;
    x.load(row, experts);
    if (op.bias) {
#pragma unroll
      for (int s = 0; s < slots; ++s)
        if (x.expert(s) < experts) x.at[s] += widened(op.bias[x.expert(s)]);
    }
    if (op.log_sums) {
      const float log_sum = x.log_sum(experts);
      if (lane_of_thread() == 0) op.log_sums[n] = log_sum;
    }
    if (op.form.score == RouterScore::softmax) {
      x.to_softmax(experts);
    } else if (op.form.score == RouterScore::sigmoid) {
#pragma unroll
      for (int s = 0; s < slots; ++s) x.at[s] = 1 / (1 + expf(-x.at[s]));
    }
#pragma unroll
    for (int s = 0; s < slots; ++s)
      if (x.expert(s) < experts) row[x.expert(s)] = x.at[s];
  });
}

__global__ void __launch_bounds__(z_threads) router_z_kernel(RouterZ op) {
  __shared__ double sums[z_threads / 32];
  double sum = 0;
#pragma unroll 8
  for (std::int64_t n = threadIdx.x; n < op.tokens; n += z_threads) {
    const auto x = static_cast<double>(op.log_sums[n]);
    sum += x * x;
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(all_lanes, sum, distance);
  if (lane_of_thread() == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < z_threads / 32; ++w) sum += sums[w];
  *op.z = static_cast<float>(sum) + (op.before ? *op.before : 0.0f);
}

/// Bits of the groups whose experts may be chosen.
template <int slots>
__device__ __forceinline__ unsigned kept_groups(const RouterForm& f, const ExpertRow<slots>& keys) {
  if (f.groups == 1) return 1;
  const int each = f.experts / f.groups, lane = lane_of_thread();
  float own = 0;  // of the lane's group
  for (int g = 0; g < f.groups; ++g) {
    const auto is_in = [&](int s) {
      return keys.expert(s) >= g * each && keys.expert(s) < (g + 1) * each;
    };
    const Best first = keys.best(is_in);
    float score = first.key;
    if (f.two_largest) {
      const Best second =
          keys.best([&](int s) { return is_in(s) && keys.expert(s) != first.index; });
      score += second.index == none ? -INFINITY : second.key;
    }
    if (lane == g) own = key_of(score);
  }
  unsigned kept = 0;
  for (int i = 0; i < f.kept_groups; ++i) {
    const bool is_candidate = lane < f.groups && !(kept >> lane & 1);
    kept |= 1u << best_of_warp({own, is_candidate ? lane : none}).index;
  }
  return kept;
}

/// Of lane j < k the score of chosen expert j, of chosen_softmax the softmax of those; of others 0.
__device__ __forceinline__ float chosen_value(const RouterForm& f, const float* scores,
                                              int expert) {
  const bool holds = lane_of_thread() < f.per_token;
  float value = holds ? scores[expert] : 0.0f;
  if (f.score == RouterScore::chosen_softmax) {
    const float most = largest_of_warp(holds ? value : -INFINITY);
    value = holds ? expf(value - most) : 0.0f;
    value /= sum_of_warp(value);
  }
  return value;
}

template <class T, int slots>
__global__ void __launch_bounds__(threads) choose_experts_kernel(ChooseExperts<T> op) {
  const RouterForm& f = op.form;
  const int lane = lane_of_thread();
  for_tokens(op.tokens, [&](std::int64_t n) {
    const float* const scores = op.scores + n * f.experts;
    ExpertRow<slots> keys;
    keys.load(scores, f.experts);
    unsigned open = 0;  // bits of slots that may be chosen
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      if (keys.expert(s) >= f.experts) continue;
      if (op.correction) keys.at[s] += widened(op.correction[keys.expert(s)]);
      keys.at[s] = key_of(keys.at[s]);
      open |= 1u << s;
    }
    if (f.groups > 1) {
      const unsigned kept = kept_groups(f, keys);
      const int each = f.experts / f.groups;
#pragma unroll
      for (int s = 0; s < slots; ++s)
        if (open >> s & 1 && !(kept >> keys.expert(s) / each & 1)) open &= ~(1u << s);
    }
    int own = 0;
    for (int j = 0; j < f.per_token; ++j) {
      const int chosen = keys.best([&](int s) { return (open >> s & 1) != 0; }).index;
      if (chosen % 32 == lane) open &= ~(1u << chosen / 32);
      if (lane == j) own = chosen;
    }
    if (op.indices && lane < f.per_token) op.indices[n * f.per_token + lane] = own;
    if (!op.weights) return;
    const float value = chosen_value(f, scores, own);
    const float divisor = f.normalized ? least_sum + sum_of_warp(value) : 1.0f;
    if (lane < f.per_token) op.weights[n * f.per_token + lane] = value / divisor * f.scale;
  });
}

// partial[blocks][2][E]. Tokens of a warp are every so many, and warps are added in order.
template <int slots>
__global__ void __launch_bounds__(threads)
    balance_experts_kernel(BalanceExperts op, double* partial) {
  __shared__ double sums[2 * most_routed_experts];
  const RouterForm& f = op.form;
  const int experts = f.experts, lane = lane_of_thread(), warp = static_cast<int>(threadIdx.x / 32);
  double shares[slots] = {};
  int counts[slots] = {};
  for_tokens(op.tokens, [&](std::int64_t n) {
    ExpertRow<slots> x;
    x.load(op.scores + n * experts, experts);
    if (f.score == RouterScore::chosen_softmax) x.to_softmax(experts);
    const int own = lane < f.per_token ? op.indices[n * f.per_token + lane] : 0;
    for (int j = 0; j < f.per_token; ++j) {
      const int chosen = __shfl_sync(all_lanes, own, j);
#pragma unroll
      for (int s = 0; s < slots; ++s) counts[s] += chosen == x.expert(s);
    }
#pragma unroll
    for (int s = 0; s < slots; ++s) shares[s] += static_cast<double>(x.at[s]);
  });
  for (int w = 0; w < warps; ++w) {
    if (warp == w) {
#pragma unroll
      for (int s = 0; s < slots; ++s) {
        const int e = ExpertRow<slots>::expert(s);
        if (e >= experts) continue;
        sums[e] = (w > 0 ? sums[e] : 0.0) + counts[s];
        sums[experts + e] = (w > 0 ? sums[experts + e] : 0.0) + shares[s];
      }
    }
    __syncthreads();
  }
  for (int i = static_cast<int>(threadIdx.x); i < 2 * experts; i += threads)
    partial[static_cast<std::int64_t>(blockIdx.x) * 2 * experts + i] = sums[i];
}

__global__ void __launch_bounds__(threads)
    balance_sum_kernel(BalanceExperts op, const double* partial, int blocks) {
  const int i = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x),
            all = 2 * op.form.experts;
  if (i >= all) return;
  double sum = 0;
#pragma unroll 8
  for (int b = 0; b < blocks; ++b) sum += partial[b * all + i];
  op.balanced[i] = static_cast<float>(sum) + (op.before ? op.before[i] : 0.0f);
}

template <class T, int slots>
__global__ void __launch_bounds__(threads) router_backward_kernel(RouterBackward<T> op) {
  const RouterForm& f = op.form;
  const int lane = lane_of_thread(), k = f.per_token, experts = f.experts;
  const float* const of_share = op.d_balanced ? op.d_balanced + experts : nullptr;
  const bool of_all = f.score == RouterScore::softmax;
  for_tokens(op.tokens, [&](std::int64_t n) {
    const float* const scores = op.scores + n * experts;
    const int chosen = lane < k ? op.indices[n * k + lane] : 0;
    float d = lane < k ? f.scale * op.d_weights[n * k + lane] : 0.0f;
    const float value = chosen_value(f, scores, chosen);
    if (f.normalized) {
      const float sum = least_sum + sum_of_warp(value), along = sum_of_warp(d * value / sum);
      d = lane < k ? (d - along) / sum : 0.0f;
    }
    if (f.score == RouterScore::chosen_softmax) d = value * (d - sum_of_warp(d * value));
    // of lanes below k: what the logit's own gradient gets beside the softmax over all
    const float score = lane < k ? scores[chosen] : 0.0f;
    const float slope = f.score == RouterScore::softmax   ? d * score
                        : f.score == RouterScore::sigmoid ? d * score * (1 - score)
                                                          : d;
    ExpertRow<slots> x;
    if (of_all || of_share) {
      x.load(scores, experts);
      if (!of_all) x.to_softmax(experts);
      float along = of_all ? d * score : 0.0f;
      if (of_share) {
#pragma unroll
        for (int s = 0; s < slots; ++s)
          if (x.expert(s) < experts) along += of_share[x.expert(s)] * x.at[s];
      }
      along = sum_of_warp(along);
#pragma unroll
      for (int s = 0; s < slots; ++s)
        x.at[s] *= (of_share && x.expert(s) < experts ? of_share[x.expert(s)] : 0.0f) - along;
    } else {
#pragma unroll
      for (int s = 0; s < slots; ++s) x.at[s] = 0;
    }
    if (op.d_z) {
      const float log_sum = op.log_sums[n], by = 2 * *op.d_z * log_sum;
#pragma unroll
      for (int s = 0; s < slots; ++s) {
        if (x.expert(s) >= experts) continue;
        const float given = scores[x.expert(s)];
        x.at[s] += by * (of_all ? given : expf(given - log_sum));
      }
    }
    for (int j = 0; j < k; ++j) {
      const int expert = __shfl_sync(all_lanes, chosen, j);
      const float more = __shfl_sync(all_lanes, slope, j);
#pragma unroll
      for (int s = 0; s < slots; ++s)
        if (expert == x.expert(s)) x.at[s] += more;
    }
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      const int e = x.expert(s);
      if (e >= experts) continue;
      if (op.d_logits) op.d_logits[n * experts + e] = x.at[s];
      if (!op.parts) continue;
      float rest = x.at[s];
#pragma unroll
      for (int part = 0; part < router_parts; ++part) {
        T rounded;
        narrow(rest, rounded);
        op.parts[(n * router_parts + part) * experts + e] = rounded;
        rest -= widened(rounded);
      }
    }
  });
}

template <class T>
__global__ void __launch_bounds__(threads) repeat_kernel(T* to, const T* from, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < n;
       i += step) {
    const T x = from[i];
#pragma unroll
    for (int part = 0; part < router_parts; ++part) to[part * n + i] = x;
  }
}

__global__ void __launch_bounds__(threads)
    sum_of_parts_kernel(float* to, const float* from, std::int64_t n, bool accumulate) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < n;
       i += step) {
    const float sum = from[2 * n + i] + from[n + i] + from[i];
    to[i] = accumulate ? to[i] + sum : sum;
  }
}

/// Calls f with the slots that hold so many experts, as a type.
template <int n>
struct Slots {
  static constexpr int count = n;
};
template <class F>
cudaError_t with_slots(int experts, F f) {
  if (experts <= 32) return f(Slots<1>{});
  if (experts <= 64) return f(Slots<2>{});
  if (experts <= 128) return f(Slots<4>{});
  if (experts <= 256) return f(Slots<8>{});
  return f(Slots<16>{});
}

cudaError_t blocks_of(std::int64_t tokens, unsigned& blocks) {
  return blocks_for((tokens + warps - 1) / warps, 8, blocks);
}
cudaError_t blocks_of_elements(std::int64_t n, unsigned& blocks) {
  return blocks_for((n + threads - 1) / threads, 8, blocks);
}

}  // namespace

std::int64_t balance_experts_scratch_bytes(std::int64_t experts) {
  return 8 * balance_blocks * 2 * experts;
}

template <class T>
cudaError_t router_scores(const RouterScores<T>& op, cudaStream_t stream) {
  if (!is_launchable(op.form)) return cudaErrorInvalidValue;
  const bool changes = op.form.score != RouterScore::chosen_softmax || op.bias || op.log_sums;
  if (op.tokens == 0 || !changes) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.tokens, blocks); error != cudaSuccess) return error;
  return with_slots(op.form.experts, [&](auto slots) {
    router_scores_kernel<T, decltype(slots)::count><<<blocks, threads, 0, stream>>>(op);
    return cudaGetLastError();
  });
}

cudaError_t router_z(const RouterZ& op, cudaStream_t stream) {
  router_z_kernel<<<1, z_threads, 0, stream>>>(op);
  return cudaGetLastError();
}

template <class T>
cudaError_t choose_experts(const ChooseExperts<T>& op, cudaStream_t stream) {
  if (!is_launchable(op.form)) return cudaErrorInvalidValue;
  if (op.tokens == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.tokens, blocks); error != cudaSuccess) return error;
  return with_slots(op.form.experts, [&](auto slots) {
    choose_experts_kernel<T, decltype(slots)::count><<<blocks, threads, 0, stream>>>(op);
    return cudaGetLastError();
  });
}

cudaError_t balance_experts(const BalanceExperts& op, double* partial, cudaStream_t stream) {
  if (!is_launchable(op.form)) return cudaErrorInvalidValue;
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::int64_t>((op.tokens + warps - 1) / warps, 1, balance_blocks));
  if (const cudaError_t error = with_slots(op.form.experts,
                                           [&](auto slots) {
                                             balance_experts_kernel<decltype(slots)::count>
                                                 <<<blocks, threads, 0, stream>>>(op, partial);
                                             return cudaGetLastError();
                                           });
      error != cudaSuccess)
    return error;
  const unsigned sums = (2 * static_cast<unsigned>(op.form.experts) + threads - 1) / threads;
  balance_sum_kernel<<<sums, threads, 0, stream>>>(op, partial, static_cast<int>(blocks));
  return cudaGetLastError();
}

template <class T>
cudaError_t router_backward(const RouterBackward<T>& op, cudaStream_t stream) {
  if (!is_launchable(op.form)) return cudaErrorInvalidValue;
  if (op.tokens == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.tokens, blocks); error != cudaSuccess) return error;
  return with_slots(op.form.experts, [&](auto slots) {
    router_backward_kernel<T, decltype(slots)::count><<<blocks, threads, 0, stream>>>(op);
    return cudaGetLastError();
  });
}

template <class T>
cudaError_t repeat_for_parts(T* to, const T* from, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of_elements(n, blocks); error != cudaSuccess) return error;
  repeat_kernel<<<blocks, threads, 0, stream>>>(to, from, n);
  return cudaGetLastError();
}

cudaError_t sum_of_parts(float* to, const float* from, std::int64_t n, bool accumulate,
                         cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of_elements(n, blocks); error != cudaSuccess) return error;
  sum_of_parts_kernel<<<blocks, threads, 0, stream>>>(to, from, n, accumulate);
  return cudaGetLastError();
}

#define TRAINX_ROUTER(T)                                                      \
  template cudaError_t router_scores(const RouterScores<T>&, cudaStream_t);   \
  template cudaError_t choose_experts(const ChooseExperts<T>&, cudaStream_t); \
  template cudaError_t router_backward(const RouterBackward<T>&, cudaStream_t);
TRAINX_ROUTER(float)
TRAINX_ROUTER(Bf16)
TRAINX_ROUTER(Fp16)
#undef TRAINX_ROUTER
template cudaError_t repeat_for_parts(Bf16*, const Bf16*, std::int64_t, cudaStream_t);
template cudaError_t repeat_for_parts(Fp16*, const Fp16*, std::int64_t, cudaStream_t);

}  // namespace trainx::kernels
