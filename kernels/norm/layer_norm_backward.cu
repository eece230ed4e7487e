#include "kernels/fold_vectors.cuh"
#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/norm/layer_norm_backward_launch.cuh"

namespace trainx::kernels {
namespace {

/// The blocks' column sums, which a second launch adds up.
template <Known known, class T>
cudaError_t launch_as(const LayerNormBackward<T>& op, const NormFactors& form,
                      const DropoutFactors& dropout, const FoldMemory& memory,
                      cudaStream_t stream) {
  unsigned blocks = 0;
  if (const cudaError_t error =
          NormBackwardBlocks<T, known>::launch(op, form, dropout, memory, blocks, stream);
      error != cudaSuccess)
    return error;
  const NormSums sums(op, known != Known::nothing || op.d_normed);
  if (sums.vectors == 0) return cudaSuccess;
  return fold_vectors<norm_fan>(reinterpret_cast<const float4*>(memory.partial),
                                static_cast<int>(blocks), sums.length4(), sums, stream);
}

template <class T>
cudaError_t launch(const LayerNormBackward<T>& op, const NormForm& form, const FusedDropout& fused,
                   const FoldMemory& memory, cudaStream_t stream) {
  if (op.columns == 0) return cudaSuccess;
  const bool changes_branch = fused || form.branch_scale != 1;
  if (op.columns > 32768 || (changes_branch && !op.d_branch)) return cudaErrorInvalidValue;
  const DropoutFactors d = dropout_factors(fused);
  if (form.is_plain() && op.d_normed && op.mean && op.gamma && op.d_gamma && op.d_beta)
    return launch_as<Known::layer_norm>(op, factors_of(form), d, memory, stream);
  if (form.rms && !changes_branch && op.d_normed && op.gamma && !op.d_branch && !op.d_beta &&
      !op.d_bias)
    return launch_as<Known::rms_norm>(op, factors_of(form), d, memory, stream);
  return launch_as<Known::nothing>(op, factors_of(form), d, memory, stream);
}

}  // namespace

std::int64_t layer_norm_backward_partial_bytes(std::int64_t columns) {
  return most_norm_blocks * 3 * padded_columns(columns) * static_cast<std::int64_t>(sizeof(float));
}
cudaError_t layer_norm_backward(const LayerNormBackward<float>& op, const FusedDropout& dropout,
                                const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, {}, dropout, memory, stream);
}
cudaError_t layer_norm_backward(const LayerNormBackward<Bf16>& op, const FusedDropout& dropout,
                                const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, {}, dropout, memory, stream);
}
cudaError_t layer_norm_backward(const LayerNormBackward<Fp16>& op, const FusedDropout& dropout,
                                const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, {}, dropout, memory, stream);
}
template <class T>
cudaError_t norm_backward(const LayerNormBackward<T>& op, const NormForm& form,
                          const FusedDropout& dropout, const FoldMemory& memory,
                          cudaStream_t stream) {
  return launch(op, form, dropout, memory, stream);
}
template cudaError_t norm_backward(const LayerNormBackward<float>&, const NormForm&,
                                   const FusedDropout&, const FoldMemory&, cudaStream_t);
template cudaError_t norm_backward(const LayerNormBackward<Bf16>&, const NormForm&,
                                   const FusedDropout&, const FoldMemory&, cudaStream_t);
template cudaError_t norm_backward(const LayerNormBackward<Fp16>&, const NormForm&,
                                   const FusedDropout&, const FoldMemory&, cudaStream_t);

}  // namespace trainx::kernels
