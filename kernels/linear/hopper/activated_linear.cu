#include "kernels/linear/hopper/activated_linear.hpp"
#include "kernels/hopper/device.hpp"
#include "kernels/launch.hpp"
#include "kernels/linear/hopper/activated_linear.cuh"
#include <initializer_list>
#include <limits>

namespace trainx::kernels::hopper {
namespace {

std::int64_t tiles_of(std::int64_t size, int tile) { return (size + tile - 1) / tile; }

bool fits(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return columns % 8 == 0 && depth % 8 == 0 && depth > 0 && rows <= most - tile_rows &&
         columns <= most - tile_columns && depth <= most - tile_depth &&
         tiles_of(rows, tile_rows) * tiles_of(columns, tile_columns) <= most / 2;
}

template <Pass pass, ActivationKind kind, class T>
cudaError_t launch(LinearArguments& a, cudaStream_t stream) {
  using C = LinearCut;
  const auto kernel = hopper_activated_gemm_kernel<pass, kind, T>;
  int multiprocessors = 0;
  for (const cudaError_t error :
       {multiprocessors_of_device(multiprocessors),
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes)})
    if (error != cudaSuccess) return error;
  a.counter = next_counter();
  const int tiles = a.row_tiles * a.column_tiles;
  kernel<<<static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors), C::threads,
           C::shared_bytes, stream>>>(a);
  return cudaGetLastError();
}

template <Pass pass, class T>
cudaError_t launch(LinearArguments& a, ActivationKind kind, std::int64_t rows, std::int64_t columns,
                   std::int64_t depth, cudaStream_t stream) {
  a.rows = static_cast<int>(rows), a.columns = static_cast<int>(columns);
  a.steps = static_cast<int>(tiles_of(depth, tile_depth));
  a.row_tiles = static_cast<int>(tiles_of(rows, tile_rows));
  a.column_tiles = static_cast<int>(tiles_of(columns, tile_columns));
  switch (kind) {
    case ActivationKind::gelu_tanh: return launch<pass, ActivationKind::gelu_tanh, T>(a, stream);
    case ActivationKind::gelu_erf: return launch<pass, ActivationKind::gelu_erf, T>(a, stream);
    default: return cudaErrorInvalidValue;
  }
}

bool all_aligned(std::initializer_list<const void*> pointers) {
  for (const void* p : pointers)
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) return false;
  return true;
}

}  // namespace

bool is_activated_linear_supported(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return fits(rows, columns, depth);
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
  if (!fits(op.rows, op.out, op.in) || !is_hopper() ||
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
  if (!fits(op.rows, op.in, op.out) || !is_hopper() ||
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
