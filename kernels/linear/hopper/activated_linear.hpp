// Linear layers with a GELU behind or before them, for Hopper GPUs (compute capability 9.0): the
// GELU is computed while products of other tiles run, by warp-group matrix products (wgmma) and the
// bulk tensor copy engine (TMA).
#pragma once
#include "kernels/activation/activation_kind.hpp"
#include "kernels/bits.hpp"
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels::hopper {

/// sum[N, F] = x[N, C] weight[F, C]^T + bias[F], activated[N, F] = gelu(sum), of the rounded sum.
template <class T>
struct ActivatedLinear {
  std::int64_t rows = 0, in = 0, out = 0;  // N, C, F
  const T* x = nullptr;
  const T* weight = nullptr;
  const T* bias = nullptr;  // null: none is added
  T* sum = nullptr;
  T* activated = nullptr;
};

/// Of a layer y = gelu(x) weight^T, weight[C, F]: dx[N, F] = (dy[N, C] weight) gelu'(x), the
/// product rounded before it is multiplied; column_sums[i, F] (fp32) = sums of rows 128 i to 128 i
/// + 127 of dx before they are rounded: their sums are the gradient of a bias that was added to x.
template <class T>
struct ActivatedLinearBackward {
  std::int64_t rows = 0, in = 0, out = 0;  // N, F, C: of the layer y
  const T* dy = nullptr;
  const T* weight = nullptr;
  const T* x = nullptr;
  T* dx = nullptr;
  float* column_sums = nullptr;  // [activated_linear_slabs(rows), F]; null: not wanted
};

constexpr std::int64_t activated_linear_slabs(std::int64_t rows) { return (rows + 127) / 128; }

/// Does the kernel take a result of so many rows and columns, of sums over `depth`? Columns and
/// depth are multiples of 8. Pointers are aligned to 16 bytes. The launch functions return
/// cudaErrorNotSupported where it does not, and on other GPUs.
bool is_activated_linear_supported(std::int64_t rows, std::int64_t columns, std::int64_t depth);

/// T: Bf16 or Fp16. Asynchronous on `stream`; one launch, whose status is returned. Sums of fp32;
/// repeats are bit-equal. Without rows nothing is launched. `kind` is a GELU; others are
/// cudaErrorInvalidValue.
template <class T>
cudaError_t activated_linear(const ActivatedLinear<T>& op, ActivationKind kind,
                             cudaStream_t stream);
template <class T>
cudaError_t activated_linear_backward(const ActivatedLinearBackward<T>& op, ActivationKind kind,
                                      cudaStream_t stream);

/// As of attention (kernels/attention/hopper/hopper_attention.hpp).
cudaError_t watch_linear_waits(std::uint32_t* mapped_words);

}  // namespace trainx::kernels::hopper
