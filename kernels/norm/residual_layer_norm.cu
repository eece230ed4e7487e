#include "kernels/launch.hpp"
#include "kernels/norm/residual_layer_norm.hpp"
#include "kernels/norm/row_group.cuh"
#include "kernels/random/dropout_factors.cuh"

namespace trainx::kernels {
namespace {

constexpr int blocks_per_multiprocessor = 16;

// Of a row in registers; columns beyond the row's are zeros and count for nothing.
struct Statistics {
  float mean, rstd;
};
template <class Group, bool aligned>
__device__ __forceinline__ float rstd_of(const float (&x)[Group::vectors][8], float mean,
                                         int columns, float epsilon, float* shared, int& turn) {
  float squares[1] = {0};
#pragma unroll
  for (int v = 0; v < Group::vectors; ++v) {
    const int c = Group::column(v);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (aligned ? c < columns : c + j < columns)
        squares[0] += (x[v][j] - mean) * (x[v][j] - mean);
  }
  Group::sum(squares, shared, turn);
  return 1 / sqrtf(squares[0] / static_cast<float>(columns) + epsilon);
}
template <class Group, bool aligned>
__device__ __forceinline__ Statistics statistics(const float (&x)[Group::vectors][8], int columns,
                                                 float epsilon, float* shared, int& turn) {
  float total[1] = {0};
#pragma unroll
  for (int v = 0; v < Group::vectors; ++v) {
#pragma unroll
    for (int j = 0; j < 8; ++j) total[0] += x[v][j];
  }
  Group::sum(total, shared, turn);
  const float mean = total[0] / static_cast<float>(columns);
  return {mean, rstd_of<Group, aligned>(x, mean, columns, epsilon, shared, turn)};
}

// to = (x - mean) * rstd * gamma + beta
template <bool aligned, class T>
__device__ __forceinline__ void norm8(float (&x)[8], Statistics s, const T* gamma, const T* beta,
                                      int column, int columns) {
  float scale[8], shift[8];
  widen8(load8<aligned>(gamma + column, columns - column), scale);
  widen8(load8<aligned>(beta + column, columns - column), shift);
#pragma unroll
  for (int j = 0; j < 8; ++j) x[j] = (x[j] - s.mean) * s.rstd * scale[j] + shift[j];
}

// The same with what may be absent.
template <bool aligned, class T>
__device__ __forceinline__ void norm8(float (&x)[8], Statistics s, const NormFactors& form,
                                      const T* gamma, const T* beta, int column, int columns) {
#pragma unroll
  for (int j = 0; j < 8; ++j) x[j] = (x[j] - s.mean) * s.rstd;
  float of_columns[8];
  if (gamma) {
    widen8(load8<aligned>(gamma + column, columns - column), of_columns);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] *= of_columns[j] + form.weight_offset;
  }
  if (beta) {
    widen8(load8<aligned>(beta + column, columns - column), of_columns);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] += of_columns[j];
  }
}

// plain: a LayerNorm with weight and shift, behind a sum that is not scaled. Others say in `form`
// what they are.
template <class T, class Group, bool aligned, bool plain>
__global__ void __launch_bounds__(Group::threads, Group::threads > 256                   ? 1
                                                  : sizeof(T) == 2 && Group::vectors < 3 ? 3
                                                                                         : 2)
    residual_layer_norm_kernel(ResidualLayerNorm<T> op, DropoutFactors dropout, NormFactors form) {
  constexpr int vectors = Group::vectors;
  __shared__ float shared[2 * Group::warps];
  int turn = 0;
  const int columns = static_cast<int>(op.columns);
  const auto epsilon = static_cast<float>(op.epsilon);
  const T* const base_in = op.residual_in ? op.residual_in : op.residual_out;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Group::rows_per_block;
       first < op.rows; first += static_cast<std::int64_t>(gridDim.x) * Group::rows_per_block) {
    const std::int64_t row = first + Group::row_of_block();
    const bool live = row < op.rows;
    const std::int64_t source = live && op.source_rows ? max(op.source_rows[row], std::int64_t{0})
                                                       : row;
    const int wanted = live ? columns : 0;
    Eight<T> base[vectors], branch[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      base[v] =
          load8<aligned>(base_in + source * columns + Group::column(v), wanted - Group::column(v));
    if (op.branch) {
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        branch[v] = load8<aligned>(op.branch + source * columns + Group::column(v),
                                   wanted - Group::column(v));
    }
    float x[vectors][8];
#pragma unroll
    for (int v = 0; v < vectors; ++v) widen8(base[v], x[v]);
    if (plain && op.gamma_before) {
      const Statistics before = statistics<Group, aligned>(x, columns, epsilon, shared, turn);
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        norm8<aligned>(x[v], before, op.gamma_before, op.beta_before, Group::column(v), columns);
#pragma unroll
        for (int j = 0; j < 8; ++j)
          if (aligned ? Group::column(v) >= columns : Group::column(v) + j >= columns) x[v][j] = 0;
      }
    }
    if (op.branch) {
      DropoutRow dropout_of_row{};
      if (dropout.on && live) dropout_of_row = dropout_row(dropout, source, columns);
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const int c = Group::column(v);
        float b[8];
        widen8(branch[v], b);
        if (op.bias) {
          float bias[8];
          widen8(load8<aligned>(op.bias + c, columns - c), bias);
#pragma unroll
          for (int j = 0; j < 8; ++j) b[j] = sum(b[j], bias[j]);
        }
        if (dropout.on) {
          float factors[8];
          factors8(dropout, dropout_of_row, c, factors);
#pragma unroll
          for (int j = 0; j < 8; ++j) b[j] = product(b[j], factors[j]);
        }
        if (!plain && form.branch_scale != 1) {
#pragma unroll
          for (int j = 0; j < 8; ++j) b[j] = product(b[j], form.branch_scale);
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) x[v][j] = sum(x[v][j], b[j]);
      }
    }
    // The norm is of what later readers of residual_out see.
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int c = Group::column(v);
      Eight<T> rounded;
      narrow8(x[v], rounded);
      if (op.residual_out && op.residual_in)
        store8<aligned>(op.residual_out + row * columns + c, rounded, wanted - c);
      widen8(rounded, x[v]);
    }
    if (!op.normed && !op.mean && !op.rstd) continue;
    Statistics s{};
    if (plain || !form.rms)
      s = statistics<Group, aligned>(x, columns, epsilon, shared, turn);
    else
      s.rstd = rstd_of<Group, aligned>(x, 0, columns, epsilon, shared, turn);
    if (live && threadIdx.x % Group::width == 0) {
      if (op.mean) op.mean[row] = s.mean;
      if (op.rstd) op.rstd[row] = s.rstd;
    }
    if (!op.normed) continue;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int c = Group::column(v);
      if constexpr (plain)
        norm8<aligned>(x[v], s, op.gamma, op.beta, c, columns);
      else
        norm8<aligned>(x[v], s, form, op.gamma, op.beta, c, columns);
      Eight<T> rounded;
      narrow8(x[v], rounded);
      store8<aligned>(op.normed + row * columns + c, rounded, wanted - c);
    }
  }
}

template <class T, class Group, bool aligned, bool plain>
cudaError_t launch_with(const ResidualLayerNorm<T>& op, const NormFactors& form,
                        const DropoutFactors& dropout, cudaStream_t stream) {
  unsigned blocks = 0;
  const std::int64_t work = (op.rows + Group::rows_per_block - 1) / Group::rows_per_block;
  if (const cudaError_t error = blocks_for(work, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  residual_layer_norm_kernel<T, Group, aligned, plain>
      <<<blocks, Group::threads, 0, stream>>>(op, dropout, form);
  return cudaGetLastError();
}

template <bool plain, class T>
cudaError_t launch_by_width(const ResidualLayerNorm<T>& op, const NormFactors& f,
                            const DropoutFactors& d, cudaStream_t stream) {
  const bool aligned = op.columns % 8 == 0 && aligned16(op.residual_in) && aligned16(op.branch) &&
                       aligned16(op.bias) && aligned16(op.residual_out) && aligned16(op.gamma) &&
                       aligned16(op.beta) && aligned16(op.normed) && aligned16(op.gamma_before) &&
                       aligned16(op.beta_before);
  if (aligned) {
    if (op.columns <= 512) return launch_with<T, RowGroup<2, 1, 8>, true, plain>(op, f, d, stream);
    if (op.columns <= 768) return launch_with<T, RowGroup<3, 1, 8>, true, plain>(op, f, d, stream);
    if (op.columns <= 1024) return launch_with<T, RowGroup<4, 1, 8>, true, plain>(op, f, d, stream);
    if constexpr (sizeof(T) == 2)
      if (op.columns <= 1280)
        return launch_with<T, RowGroup<5, 1, 8>, true, plain>(op, f, d, stream);
    if (op.columns <= 1536) return launch_with<T, RowGroup<3, 2, 8>, true, plain>(op, f, d, stream);
    if (op.columns <= 2048) return launch_with<T, RowGroup<4, 2, 8>, true, plain>(op, f, d, stream);
    if (op.columns <= 4096) return launch_with<T, RowGroup<4, 4, 8>, true, plain>(op, f, d, stream);
    if (op.columns <= 8192) return launch_with<T, RowGroup<4, 8, 8>, true, plain>(op, f, d, stream);
  }
  if (op.columns <= 1024) return launch_with<T, RowGroup<4, 1, 8>, false, plain>(op, f, d, stream);
  if (op.columns <= 8192) return launch_with<T, RowGroup<4, 8, 8>, false, plain>(op, f, d, stream);
  return launch_with<T, RowGroup<4, 32, 32>, false, plain>(op, f, d, stream);
}

template <class T>
cudaError_t launch(const ResidualLayerNorm<T>& op, const NormForm& form, const FusedDropout& fused,
                   cudaStream_t stream) {
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  if (op.columns > 32768 || (!op.residual_in && op.branch)) return cudaErrorInvalidValue;
  const DropoutFactors d = dropout_factors(fused);
  const NormFactors f = factors_of(form);
  if (form.is_plain() && (!op.normed || (op.gamma && op.beta)))
    return launch_by_width<true>(op, f, d, stream);
  if (op.gamma_before) return cudaErrorInvalidValue;
  return launch_by_width<false>(op, f, d, stream);
}

}  // namespace

cudaError_t residual_layer_norm(const ResidualLayerNorm<float>& op, const FusedDropout& dropout,
                                cudaStream_t stream) {
  return launch(op, {}, dropout, stream);
}
cudaError_t residual_layer_norm(const ResidualLayerNorm<Bf16>& op, const FusedDropout& dropout,
                                cudaStream_t stream) {
  return launch(op, {}, dropout, stream);
}
cudaError_t residual_layer_norm(const ResidualLayerNorm<Fp16>& op, const FusedDropout& dropout,
                                cudaStream_t stream) {
  return launch(op, {}, dropout, stream);
}
template <class T>
cudaError_t residual_norm(const ResidualLayerNorm<T>& op, const NormForm& form,
                          const FusedDropout& dropout, cudaStream_t stream) {
  return launch(op, form, dropout, stream);
}
template cudaError_t residual_norm(const ResidualLayerNorm<float>&, const NormForm&,
                                   const FusedDropout&, cudaStream_t);
template cudaError_t residual_norm(const ResidualLayerNorm<Bf16>&, const NormForm&,
                                   const FusedDropout&, cudaStream_t);
template cudaError_t residual_norm(const ResidualLayerNorm<Fp16>&, const NormForm&,
                                   const FusedDropout&, cudaStream_t);

}  // namespace trainx::kernels
