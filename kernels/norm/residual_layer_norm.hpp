#pragma once
#include "kernels/norm/norm_form.hpp"
#include "kernels/random/fused_dropout.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Operands are [N, C] unless said; float, Bf16 or Fp16. N >= 0, C from 0 to 32768. Memory of the
/// device; for the reference, of the host.
template <class T>
struct ResidualLayerNorm {
  std::int64_t rows = 0, columns = 0;  // N, C
  // null: the sum is already in residual_out, which is only read; branch must be null then
  const T* residual_in = nullptr;
  const T* branch = nullptr;  // null: nothing is added
  const T* bias = nullptr;    // [C] of the Linear that made `branch`; may be null
  T* residual_out = nullptr;  // may be residual_in or branch; null: the sum is not kept
  float* mean = nullptr;      // [N]; null: not kept; with C = 0 unspecified, as rstd
  float* rstd = nullptr;      // [N]; null: not kept
  const T* gamma = nullptr;   // [C]; null (residual_norm): 1 each
  const T* beta = nullptr;    // [C]; null (residual_norm): 0 each
  // null: not wanted; may be residual_out where that is only read
  T* normed = nullptr;
  double epsilon = 1e-5;
  // A LayerNorm that residual_in has yet to go through (of post-norm models, which keep the sum
  // alone): gamma[C], beta[C]; null: none. epsilon is the same.
  const T* gamma_before = nullptr;
  const T* beta_before = nullptr;
  // Row r of the outputs comes from row source_rows[r] (i64 [N]) of residual_in and branch, whose
  // dropout it has; null: from row r. A negative one counts as row 0, so that lists may be longer
  // than their number of rows.
  const std::int64_t* source_rows = nullptr;
};

/// residual_out = residual_in + branch_scale * dropout(branch + bias), rounded once; mean and rstd
/// = 1 / sqrt(variance + epsilon) of residual_out's rows as rounded (RMSNorm: mean = 0, variance:
/// the mean square); normed = (residual_out - mean) * rstd * (gamma + weight_offset) + beta (Ba et
/// al. 2016, arXiv:1607.06450). Statistics in fp32; residual_out has the bits of the reference
/// where there is no norm before. NaN makes its row NaN. Bytes of an element: reads two T and
/// writes two; a norm of what is there reads one and writes one. Pointers need their element's
/// alignment; 16 bytes, with C a multiple of 8, are faster.
void residual_layer_norm_reference(const ResidualLayerNorm<float>& op, const FusedDropout& dropout);
void residual_layer_norm_reference(const ResidualLayerNorm<Bf16>& op, const FusedDropout& dropout);
void residual_layer_norm_reference(const ResidualLayerNorm<Fp16>& op, const FusedDropout& dropout);
/// In any form; only a plain one has a norm before it.
template <class T>
void residual_norm_reference(const ResidualLayerNorm<T>& op, const NormForm& form,
                             const FusedDropout& dropout);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch; needs no scratch.
cudaError_t residual_layer_norm(const ResidualLayerNorm<float>& op, const FusedDropout& dropout,
                                cudaStream_t stream);
cudaError_t residual_layer_norm(const ResidualLayerNorm<Bf16>& op, const FusedDropout& dropout,
                                cudaStream_t stream);
cudaError_t residual_layer_norm(const ResidualLayerNorm<Fp16>& op, const FusedDropout& dropout,
                                cudaStream_t stream);
template <class T>
cudaError_t residual_norm(const ResidualLayerNorm<T>& op, const NormForm& form,
                          const FusedDropout& dropout, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
