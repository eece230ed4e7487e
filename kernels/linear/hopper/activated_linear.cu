#include "kernels/linear/hopper/activated_linear.hpp"
#include "kernels/linear/hopper/activated_linear.cuh"
#include "kernels/linear/hopper/linear_launch.cuh"

namespace trainx::kernels::hopper {
namespace {

template <Pass pass, class T>
cudaError_t launch(LinearArguments& a, ActivationKind kind, std::int64_t rows, std::int64_t columns,
                   std::int64_t depth, cudaStream_t stream) {
  using Kind = ActivationKind;
  set_sizes(a, rows, columns, depth);
  switch (kind) {
    case Kind::gelu_tanh:
      return launch_linear<ActivatedForm<pass>>(
          hopper_activated_gemm_kernel<pass, Kind::gelu_tanh, T>, a, a, stream);
    case Kind::gelu_erf:
      return launch_linear<ActivatedForm<pass>>(
          hopper_activated_gemm_kernel<pass, Kind::gelu_erf, T>, a, a, stream);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace

bool is_activated_linear_supported(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return linear_fits(rows, columns, depth);
}

cudaError_t watch_linear_waits([[maybe_unused]] std::uint32_t* mapped_words) {
#ifdef TRAINX_CHECK_WAITS
  return cudaMemcpyToSymbol(wait_report, &mapped_words, sizeof mapped_words);
#else
  return cudaErrorNotSupported;
#endif
}

template <class T>
cudaError_t activated_linear(const ActivatedLinear<T>& op, ActivationKind kind,
                             cudaStream_t stream) {
  if (!linear_fits(op.rows, op.out, op.in) || !is_hopper() ||
      !all_aligned({op.x, op.weight, op.bias, op.sum, op.activated}))
    return cudaErrorNotSupported;
  if (op.rows == 0 || op.out == 0) return cudaSuccess;
  LinearArguments a{};
  for (const cudaError_t error :
       {make_matrix_map(a.a, op.x, {op.in, op.rows, 1, op.in, op.in * op.rows}, tile_rows),
        make_matrix_map(a.b, op.weight, {op.in, op.out, 1, op.in, op.in * op.out}, tile_columns),
        make_matrix_map(a.c, op.sum, {op.out, op.rows, 1, op.out, op.out * op.rows}, stored_rows)})
    if (error != cudaSuccess) return error;
  a.bias = op.bias, a.out = op.activated;
  return launch<Pass::forward, T>(a, kind, op.rows, op.out, op.in, stream);
}

template <class T>
cudaError_t activated_linear_backward(const ActivatedLinearBackward<T>& op, ActivationKind kind,
                                      cudaStream_t stream) {
  if (!linear_fits(op.rows, op.in, op.out) || !is_hopper() ||
      !all_aligned({op.dy, op.weight, op.x, op.dx, op.column_sums}))
    return cudaErrorNotSupported;
  if (op.rows == 0 || op.in == 0) return cudaSuccess;
  LinearArguments a{};
  for (const cudaError_t error :
       {make_matrix_map(a.a, op.dy, {op.out, op.rows, 1, op.out, op.out * op.rows}, tile_rows),
        make_matrix_map(a.b, op.weight, {op.in, op.out, 1, op.in, op.in * op.out}, box_rows)})
    if (error != cudaSuccess) return error;
  a.x = op.x, a.out = op.dx, a.column_sums = op.column_sums;
  return launch<Pass::backward, T>(a, kind, op.rows, op.in, op.out, stream);
}

#define TRAINX_ACTIVATED_LINEAR(T)                                                                \
  template cudaError_t activated_linear(const ActivatedLinear<T>&, ActivationKind, cudaStream_t); \
  template cudaError_t activated_linear_backward(const ActivatedLinearBackward<T>&,               \
                                                 ActivationKind, cudaStream_t);
TRAINX_ACTIVATED_LINEAR(Bf16)
TRAINX_ACTIVATED_LINEAR(Fp16)
#undef TRAINX_ACTIVATED_LINEAR

}  // namespace trainx::kernels::hopper
