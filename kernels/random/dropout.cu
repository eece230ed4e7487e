#include "kernels/launch.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/vector4.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

struct DropoutRule {
  std::uint64_t seed;
  std::uint32_t where, threshold;
  float scale;
};

struct DropoutWork {
  DropoutRule rule;
  const std::int64_t* positions;
  // a quad: the four elements of one Philox block; a sample's last may be cut short
  std::int64_t sample_elements, quads_per_sample;
  // of the launch, counted from the micro-batch's first sample
  std::int64_t first_element, elements;
  std::int64_t first_sample, quads;  // quads of all samples that the launch touches
};

/// Elements [first, last) of a quad, which lies at out and in.
template <class T>
__device__ void drop_quad(T* out, const T* in, std::int64_t quad, std::int64_t position,
                          const DropoutRule& rule, int first, int last) {
  const auto at = static_cast<std::uint64_t>(position);
  const FourWords words =
      philox({{static_cast<std::uint32_t>(quad), rule.where, static_cast<std::uint32_t>(at),
               static_cast<std::uint32_t>(at >> 32)}},
             rule.seed);
  if (first == 0 && last == 4 && aligned4(in) && aligned4(out)) {
    Four<T> x = load4(in);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      narrow(product(widened(x.at[j]), words.at[j] >= rule.threshold ? rule.scale : 0.0f), x.at[j]);
    store4(out, x);
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (j >= first && j < last)
        narrow(product(widened(in[j]), words.at[j] >= rule.threshold ? rule.scale : 0.0f), out[j]);
  }
}

template <class T>
__global__ void __launch_bounds__(threads) dropout_kernel(T* out, const T* in, DropoutWork work) {
  for (std::int64_t q = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       q < work.quads; q += static_cast<std::int64_t>(gridDim.x) * threads) {
    const std::int64_t sample = work.first_sample + q / work.quads_per_sample,
                       quad = q % work.quads_per_sample;
    // The quad's elements lie at [begin, begin + 4) of out and in, as far as they are elements of
    // the sample and of the launch.
    const std::int64_t begin = sample * work.sample_elements + 4 * quad - work.first_element;
    const std::int64_t left_of_sample = work.sample_elements - 4 * quad,
                       left = work.elements - begin;
    const int first = begin < 0 ? static_cast<int>(begin < -4 ? 4 : -begin) : 0;
    const std::int64_t end = left_of_sample < left ? left_of_sample : left;
    const int last = static_cast<int>(end < 0 ? 0 : end < 4 ? end : 4);
    if (first < last)
      drop_quad(out + begin, in + begin, quad, work.positions[sample], work.rule, first, last);
  }
}

/// Columns of wider rows: the first and the last quad of a row may have elements of others.
template <class T>
__global__ void __launch_bounds__(threads)
    dropout_of_columns_kernel(T* out, const T* in, DropoutRows rows, std::int64_t quads_per_row,
                              DropoutRule rule) {
  for (std::int64_t q = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       q < rows.rows * quads_per_row; q += static_cast<std::int64_t>(gridDim.x) * threads) {
    const std::int64_t r = q / quads_per_row, row = rows.first_row + r;
    const std::int64_t sample = row / rows.length;
    const std::int64_t element = (row - sample * rows.length) * rows.all_columns +
                                 rows.first_column;
    const std::int64_t quad = element / 4 + q % quads_per_row;
    const std::int64_t column = 4 * quad - element, left = rows.columns - column;
    const int first = static_cast<int>(column < 0 ? -column : 0);
    const int last = static_cast<int>(left < 0 ? 0 : left < 4 ? left : 4);
    const std::int64_t begin = r * rows.columns + column;
    if (first < last)
      drop_quad(out + begin, in + begin, quad, rows.positions[sample], rule, first, last);
  }
}

cudaError_t blocks_of(std::int64_t quads, unsigned& blocks) {
  return blocks_for((quads + threads - 1) / threads, blocks_per_multiprocessor, blocks);
}

template <class T>
cudaError_t launch_of_columns(T* out, const T* in, const DropoutRows& rows, const DropoutRule& rule,
                              cudaStream_t stream) {
  const std::int64_t quads_per_row = (rows.columns + 3) / 4 + 1;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(rows.rows * quads_per_row, blocks); error != cudaSuccess)
    return error;
  dropout_of_columns_kernel<<<blocks, threads, 0, stream>>>(out, in, rows, quads_per_row, rule);
  return cudaGetLastError();
}

template <class T>
cudaError_t launch(T* out, const T* in, const DropoutRows& rows, const DropoutKey& key,
                   cudaStream_t stream) {
  if (rows.rows == 0 || rows.columns == 0) return cudaSuccess;
  const DropoutRule rule{key.seed, key.block << 8 | key.site,
                         static_cast<std::uint32_t>(std::ldexp(key.probability, 32)),
                         static_cast<float>(1 / (1 - key.probability))};
  if (rows.all_columns > 0) return launch_of_columns(out, in, rows, rule, stream);
  DropoutWork work{};
  work.rule = rule;
  work.positions = rows.positions;
  work.sample_elements = rows.length * rows.columns;
  work.quads_per_sample = (work.sample_elements + 3) / 4;
  work.first_element = rows.first_row * rows.columns;
  work.elements = rows.rows * rows.columns;
  work.first_sample = rows.first_row / rows.length;
  const std::int64_t last_sample = (rows.first_row + rows.rows - 1) / rows.length;
  work.quads = (last_sample - work.first_sample + 1) * work.quads_per_sample;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(work.quads, blocks); error != cudaSuccess) return error;
  dropout_kernel<<<blocks, threads, 0, stream>>>(out, in, work);
  return cudaGetLastError();
}

}  // namespace

cudaError_t dropout(float* out, const float* in, const DropoutRows& rows, const DropoutKey& key,
                    cudaStream_t stream) {
  return launch(out, in, rows, key, stream);
}
cudaError_t dropout(Bf16* out, const Bf16* in, const DropoutRows& rows, const DropoutKey& key,
                    cudaStream_t stream) {
  return launch(out, in, rows, key, stream);
}
cudaError_t dropout(Fp16* out, const Fp16* in, const DropoutRows& rows, const DropoutKey& key,
                    cudaStream_t stream) {
  return launch(out, in, rows, key, stream);
}

}  // namespace trainx::kernels
