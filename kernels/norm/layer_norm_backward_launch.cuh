// How the backward of norms is launched: what layer_norm_backward.cu needs to know of the kernels
// in layer_norm_backward.cuh, without compiling them.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>
#include "kernels/host_device.hpp"
#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/random/dropout_factors.cuh"

namespace trainx::kernels {

/// Blocks are at most as many as fold_vectors adds up with this fan.
constexpr int norm_fan = 12;
constexpr int most_norm_blocks = norm_fan * norm_fan;

/// Floats of one vector of sums.
TRAINX_HOST_DEVICE std::int64_t padded_columns(std::int64_t columns) {
  return (columns + 3) / 4 * 4;
}

/// Where the column sums that are wanted go: one vector each, in this order.
struct NormSums {
  float *d_gamma = nullptr, *d_beta = nullptr, *d_bias = nullptr;
  bool accumulate_norm = false, accumulate_bias = false;
  int columns = 0, pitch4 = 0, vectors = 0;

  template <class T>
  TRAINX_HOST_DEVICE NormSums(const LayerNormBackward<T>& op, bool norms)
      : d_gamma(norms ? op.d_gamma : nullptr),
        d_beta(norms ? op.d_beta : nullptr),
        d_bias(op.d_bias),
        accumulate_norm(op.accumulate_norm),
        accumulate_bias(op.accumulate_bias),
        columns(static_cast<int>(op.columns)),
        pitch4(static_cast<int>(padded_columns(op.columns) / 4)),
        vectors((d_gamma != nullptr) + (d_beta != nullptr) + (d_bias != nullptr)) {}

  TRAINX_HOST_DEVICE int length4() const { return vectors * pitch4; }

  __device__ void operator()(int i, const float4& total) const {
    const int at = i / pitch4, column = 4 * (i - at * pitch4);
    const bool is_gamma = d_gamma && at == 0, is_beta = d_beta && at == (d_gamma != nullptr);
    float* const to = is_gamma ? d_gamma : is_beta ? d_beta : d_bias;
    const bool accumulate = is_gamma || is_beta ? accumulate_norm : accumulate_bias;
    const float values[4] = {total.x, total.y, total.z, total.w};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (column + j < columns)
        to[column + j] = accumulate ? to[column + j] + values[j] : values[j];
  }
};

/// What is known when a kernel is compiled: a LayerNorm with weight and shift, an RMSNorm with
/// weight alone, whose sum has no bias, both of a sum that is not scaled; or what NormForm and null
/// pointers say.
enum class Known : std::uint8_t { layer_norm, rms_norm, nothing };

/// Defined in layer_norm_backward.cuh, and instantiated in layer_norm_backward/.
template <class T, Known known>
struct NormBackwardBlocks {
  /// Writes dx and d_branch, and the column sums of each of `blocks` thread blocks to
  /// memory.partial[blocks][length4 of NormSums].
  static cudaError_t launch(const LayerNormBackward<T>& op, const NormFactors& form,
                            const DropoutFactors& dropout, const FoldMemory& memory,
                            unsigned& blocks, cudaStream_t stream);
};

}  // namespace trainx::kernels
