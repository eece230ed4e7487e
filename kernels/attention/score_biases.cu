#include <climits>
#include "kernels/attention/alibi.hpp"
#include "kernels/attention/biased.cuh"
#include "kernels/attention/score_biases.hpp"
#include "kernels/bits.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

__device__ int bucket_of(const DistanceBuckets& buckets, long distance) {
  const long far = buckets.both_sides && distance > 0 ? distance : max(0L, -distance);
  const int of_side = buckets.both_sides ? buckets.count / 2 : buckets.count;
  int bucket = 0;
  while (bucket + 1 < of_side && buckets.from[bucket + 1] <= far) ++bucket;
  return bucket + (buckets.both_sides && distance > 0 ? of_side : 0);
}

template <class P>
__global__ void expand(BiasSource<P> from, long tokens, int heads, float* by_distance,
                       std::int32_t* buckets, float* sinks) {
  const long distances = 2 * tokens - 1, i = static_cast<long>(blockIdx.x) * threads + threadIdx.x,
             head = i / distances, place = i % distances, distance = place + 1 - tokens;
  if (head >= heads) return;
  if (place == 0 && sinks) sinks[head] = widened(from.sinks[head]);
  const long columns = from.table_columns > 0 ? from.table_columns : heads;
  const int bucket = from.table ? bucket_of(from.buckets, distance) : 0;
  if (head == 0 && buckets) buckets[place] = bucket;
  if (!by_distance) return;
  const float learned = from.table ? widened(from.table[bucket * columns + head]) : 0.0f,
              slope = from.alibi ? alibi_slope(from.first_head + head,
                                               from.all_heads > 0 ? from.all_heads : heads)
                                 : 0.0f;
  by_distance[i] = learned - slope * static_cast<float>(labs(distance));
}

/// In one order: each lane every 32nd, then lanes in pairs.
template <class Value>
__device__ float sum_of(long count, Value value) {
  float sum = 0;
  for (long i = threadIdx.x; i < count; i += 32) sum += value(i);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lane);
  return sum;
}

__device__ void deliver(float* to, float sum, bool accumulate) {
  if (threadIdx.x == 0) *to = accumulate ? *to + sum : sum;
}

// One warp for each (bucket, head).
__global__ void sum_buckets(const float* d_buckets, long batch, long parts, int heads,
                            float* d_table, long columns, bool accumulate) {
  const int bucket = blockIdx.x, head = blockIdx.y;
  const float sum = sum_of(batch * parts, [&](long i) {
    const long b = i / parts, part = i % parts;
    return d_buckets[((b * heads + head) * parts + part) * DistanceBuckets::most + bucket];
  });
  deliver(d_table + bucket * columns + head, sum, accumulate);
}

// One warp a head. A sink's share of a row is exp(sink - lse), its value zero.
__global__ void sum_sinks(const float* sinks, const float* lse, const float* delta, long batch,
                          long tokens, int heads, float* d_sinks, bool accumulate) {
  const int head = blockIdx.x;
  const float sink = sinks[head];
  const float sum = sum_of(batch * tokens, [&](long i) {
    const long at = (i / tokens * heads + head) * tokens + i % tokens;
    return -expf(sink - lse[at]) * delta[at];
  });
  deliver(d_sinks + head, sum, accumulate);
}

long parts_of(std::int64_t tokens) {
  return static_cast<long>((tokens + rows_of_bucket_sums - 1) / rows_of_bucket_sums);
}

}  // namespace

template <class P>
cudaError_t expand_biases(const BiasSource<P>& from, std::int64_t tokens, std::int64_t heads,
                          float* by_distance, std::int32_t* buckets, float* sinks,
                          cudaStream_t stream) {
  if (tokens == 0 || heads == 0) return cudaSuccess;
  if (tokens > INT_MAX / 2 || heads > 65535 || from.buckets.count > DistanceBuckets::most ||
      (sinks && !from.sinks))
    return cudaErrorInvalidValue;
  const long work = (2 * tokens - 1) * heads;
  expand<<<static_cast<unsigned>((work + threads - 1) / threads), threads, 0, stream>>>(
      from, tokens, static_cast<int>(heads), by_distance, buckets, sinks);
  return cudaGetLastError();
}

#define TRAINX_EXPAND(P)                                                                       \
  template cudaError_t expand_biases(const BiasSource<P>&, std::int64_t, std::int64_t, float*, \
                                     std::int32_t*, float*, cudaStream_t);
TRAINX_EXPAND(float)
TRAINX_EXPAND(Bf16)
TRAINX_EXPAND(Fp16)
#undef TRAINX_EXPAND

std::int64_t bias_gradient_floats(std::int64_t batch, std::int64_t tokens, std::int64_t heads) {
  return batch * heads * parts_of(tokens) * DistanceBuckets::most;
}

cudaError_t sum_bias_gradients(const float* d_buckets, std::int64_t batch, std::int64_t tokens,
                               std::int64_t heads, int count, float* d_table, std::int64_t columns,
                               bool accumulate, cudaStream_t stream) {
  if (count < 1 || count > DistanceBuckets::most || heads < 1 || heads > 65535)
    return cudaErrorInvalidValue;
  const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(heads));
  sum_buckets<<<grid, 32, 0, stream>>>(d_buckets, batch, parts_of(tokens), static_cast<int>(heads),
                                       d_table, columns, accumulate);
  return cudaGetLastError();
}

cudaError_t sum_sink_gradients(const float* sinks, const float* lse, const float* delta,
                               std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                               float* d_sinks, bool accumulate, cudaStream_t stream) {
  if (heads < 1 || heads > 65535) return cudaErrorInvalidValue;
  sum_sinks<<<static_cast<unsigned>(heads), 32, 0, stream>>>(
      sinks, lse, delta, batch, tokens, static_cast<int>(heads), d_sinks, accumulate);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
