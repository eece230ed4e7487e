#include "kernels/norm/norm_backward_rows.hpp"
#include "kernels/launch.hpp"
#include "kernels/norm/row_group.cuh"

namespace trainx::kernels {
namespace {

constexpr int blocks_per_multiprocessor = 16;

template <class T, class Group>
__global__ void __launch_bounds__(Group::threads, sizeof(T) == 4 ? 1 : Group::vectors < 3 ? 3 : 2)
    norm_backward_rows_kernel(LayerNormBackward<T> op, DropoutFactors dropout, NormFactors form) {
  constexpr int vectors = Group::vectors;
  __shared__ float shared[4 * Group::warps];
  int turn = 0;
  const int columns = static_cast<int>(op.columns);
  const auto n = static_cast<float>(columns);
  // g = d_normed * weight and z = (x - mean) * rstd, of a piece
  const auto terms = [&](int v, const Eight<T>& d_normed, const Eight<T>& x, float mean, float rstd,
                         float(&g)[8], float(&z)[8]) {
    const int c = Group::column(v);
    widen8(d_normed, g);
    widen8(x, z);
    float weight[8];
    if (op.gamma) widen8(load8<true>(op.gamma + c, columns - c), weight);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (op.gamma) g[j] *= weight[j] + form.weight_offset;
      z[j] = c < columns ? (z[j] - mean) * rstd : 0;
    }
  };
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Group::rows_per_block;
       first < op.rows; first += static_cast<std::int64_t>(gridDim.x) * Group::rows_per_block) {
    const std::int64_t row = first + Group::row_of_block();
    const bool live = row < op.rows;
    const int wanted = live ? columns : 0;
    Eight<T> d_normed[vectors], x[vectors], d_residual[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int c = Group::column(v);
      d_normed[v] = load8<true>(op.d_normed + row * columns + c, wanted - c);
      x[v] = load8<true>(op.x + row * columns + c, wanted - c);
      d_residual[v] = load8<true>(op.d_residual + row * columns + c,
                                  op.d_residual ? wanted - c : 0);
    }
    const float mean = live && op.mean && !form.rms ? op.mean[row] : 0,
                rstd = live ? op.rstd[row] : 0;
    float sums[2] = {0, 0};  // of g, of g z
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float g[8], z[8];
      terms(v, d_normed[v], x[v], mean, rstd, g, z);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        sums[0] += g[j];
        sums[1] += g[j] * z[j];
      }
    }
    Group::sum(sums, shared, turn);
    if (!live) continue;
    const float average_g = form.rms ? 0 : sums[0] / n, average_gz = sums[1] / n;
    DropoutRow dropout_of_row{};
    if (dropout.on) dropout_of_row = dropout_row(dropout, row, columns);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int c = Group::column(v);
      if (c >= columns) break;
      float d[8], g[8], z[8];
      widen8(d_residual[v], d);
      terms(v, d_normed[v], x[v], mean, rstd, g, z);
#pragma unroll
      for (int j = 0; j < 8; ++j) d[j] += rstd * (g[j] - average_g - z[j] * average_gz);
      Eight<T> rounded;
      narrow8(d, rounded);
      store8<true>(op.dx + row * columns + c, rounded, columns - c);
      if (!op.d_branch) continue;
      widen8(rounded, d);
      if (dropout.on) {
        float factors[8];
        factors8(dropout, dropout_of_row, c, factors);
#pragma unroll
        for (int j = 0; j < 8; ++j) d[j] = product(d[j], factors[j]);
      }
      if (form.branch_scale != 1) {
#pragma unroll
        for (int j = 0; j < 8; ++j) d[j] = product(d[j], form.branch_scale);
      }
      narrow8(d, rounded);
      store8<true>(op.d_branch + row * columns + c, rounded, columns - c);
    }
  }
}

template <class Group, class T>
cudaError_t launch(const LayerNormBackward<T>& op, const NormFactors& form,
                   const DropoutFactors& dropout, cudaStream_t stream) {
  unsigned blocks = 0;
  const std::int64_t work = (op.rows + Group::rows_per_block - 1) / Group::rows_per_block;
  if (const cudaError_t error = blocks_for(work, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  norm_backward_rows_kernel<T, Group><<<blocks, Group::threads, 0, stream>>>(op, dropout, form);
  return cudaGetLastError();
}

}  // namespace

template <class T>
bool takes_rows_alone(const LayerNormBackward<T>& op) {
  return op.d_normed && !op.d_gamma && !op.d_beta && !op.d_bias && op.columns % 8 == 0 &&
         op.columns <= 8192 && aligned16(op.d_normed) && aligned16(op.x) && aligned16(op.gamma) &&
         aligned16(op.d_residual) && aligned16(op.dx) && aligned16(op.d_branch);
}

template <class T>
cudaError_t norm_backward_rows(const LayerNormBackward<T>& op, const NormFactors& form,
                               const DropoutFactors& dropout, cudaStream_t stream) {
  if (op.rows == 0) return cudaSuccess;
  if (op.columns <= 512) return launch<RowGroup<2, 1, 8>>(op, form, dropout, stream);
  if (op.columns <= 1024) return launch<RowGroup<2, 2, 8>>(op, form, dropout, stream);
  if (op.columns <= 2048) return launch<RowGroup<2, 4, 8>>(op, form, dropout, stream);
  if (op.columns <= 4096) return launch<RowGroup<4, 4, 8>>(op, form, dropout, stream);
  return launch<RowGroup<4, 8, 8>>(op, form, dropout, stream);
}

template bool takes_rows_alone(const LayerNormBackward<float>&);
template bool takes_rows_alone(const LayerNormBackward<Bf16>&);
template bool takes_rows_alone(const LayerNormBackward<Fp16>&);
template cudaError_t norm_backward_rows(const LayerNormBackward<float>&, const NormFactors&,
                                        const DropoutFactors&, cudaStream_t);
template cudaError_t norm_backward_rows(const LayerNormBackward<Bf16>&, const NormFactors&,
                                        const DropoutFactors&, cudaStream_t);
template cudaError_t norm_backward_rows(const LayerNormBackward<Fp16>&, const NormFactors&,
                                        const DropoutFactors&, cudaStream_t);

}  // namespace trainx::kernels
