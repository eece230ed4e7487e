#include "kernels/experts/hopper/grouped_hopper.hpp"
#include "kernels/experts/hopper/grouped_hopper.cuh"
#include "kernels/hopper/device.hpp"
#include "kernels/launch.hpp"

namespace trainx::kernels::hopper {
namespace {

using grouped::Products;

bool fits(const GroupedSizes& s) {
  return s.in % 8 == 0 && s.out % 8 == 0 && grouped::is_launchable(s);
}

template <class P>
bool is_aligned(const P& p) {
  return aligned16(p.a) && aligned16(p.b) && aligned16(p.c);
}

template <Layout left, Layout right, Cut cut, class T, class Result>
cudaError_t make_maps(ProductArguments& a, const Products<T, Result>& p) {
  const auto all = [](std::initializer_list<cudaError_t> errors) {
    for (const cudaError_t error : errors)
      if (error != cudaSuccess) return error;
    return cudaSuccess;
  };
  if constexpr (cut == Cut::rows) {
    const bool along = right == Layout::along;
    return all({make_clipped_map<tile_rows>(a.a, p.a, p.m, p.k, p.lda),
                make_matrix_map(
                    a.b, p.b, {along ? p.k : p.n, along ? p.n : p.k, p.experts, p.ldb, p.of_expert},
                    along ? tile_columns : box_rows),
                make_clipped_map<stored_rows>(a.c, p.c, p.m, p.n, p.ldc)});
  } else {
    return all({make_clipped_map<box_rows>(a.a, p.a, p.k, p.m, p.lda),
                make_clipped_map<box_rows>(a.b, p.b, p.k, p.n, p.ldb),
                make_matrix_map(a.c, p.c, {p.n, p.m, p.experts, p.ldc, p.of_expert}, stored_rows)});
  }
}

template <Layout left, Layout right, Cut cut, class T, class Result>
cudaError_t multiply(Products<T, Result> p, cudaStream_t stream) {
  using C = ProductCut;
  if (!is_aligned(p) || !is_hopper()) return cudaErrorNotSupported;
  const std::int64_t tiles = grouped::blocks_of<cut>(p, tile_rows, tile_columns);
  if (tiles == 0) return cudaErrorInvalidValue;
  ProductArguments a{};
  int multiprocessors = 0;
  const auto kernel = hopper_grouped_gemm_kernel<left, right, cut, T>;
  for (const cudaError_t error :
       {make_maps<left, right, cut>(a, p), multiprocessors_of_device(multiprocessors),
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes)})
    if (error != cudaSuccess) return error;
  a.offsets = p.offsets;
  a.experts = p.experts, a.columns = static_cast<int>(p.n);
  a.rows = cut == Cut::sum ? static_cast<int>(p.m) : 0;
  a.row_tiles = p.row_tiles, a.column_tiles = p.column_tiles;
  a.steps = cut == Cut::rows ? static_cast<int>((p.k + tile_depth - 1) / tile_depth) : 0;
  a.counter = next_counter();
  a.accumulate = p.accumulate;
  const auto blocks =
      static_cast<unsigned>(tiles < multiprocessors ? tiles : std::int64_t{multiprocessors});
  kernel<<<blocks, C::threads, C::shared_bytes, stream>>>(a);
  return cudaGetLastError();
}

}  // namespace

bool is_supported(const GroupedSizes& sizes) { return fits(sizes) && is_hopper(); }

template <class T>
cudaError_t grouped_linear(const GroupedLinear<T>& op, cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (!fits(s) || s.in == 0) return cudaErrorNotSupported;
  if (s.rows == 0 || s.out == 0) return cudaSuccess;
  return multiply<Layout::along, Layout::along, Cut::rows>(grouped::products_of(op), stream);
}

template <class T>
cudaError_t grouped_linear_backward_input(const GroupedLinearBackwardInput<T>& op,
                                          cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (!fits(s) || s.out == 0) return cudaErrorNotSupported;
  if (s.rows == 0 || s.in == 0) return cudaSuccess;
  return multiply<Layout::along, Layout::across, Cut::rows>(grouped::products_of(op), stream);
}

template <class T>
cudaError_t grouped_linear_backward_weight(const GroupedLinearBackwardWeight<T>& op,
                                           cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (!fits(s)) return cudaErrorNotSupported;
  if (s.in == 0 || s.out == 0 || s.experts == 0) return cudaSuccess;
  return multiply<Layout::across, Layout::across, Cut::sum>(grouped::products_of(op), stream);
}

cudaError_t watch_grouped_waits([[maybe_unused]] std::uint32_t* mapped_words) {
#ifdef TRAINX_CHECK_WAITS
  return cudaMemcpyToSymbol(wait_report, &mapped_words, sizeof mapped_words);
#else
  return cudaErrorNotSupported;
#endif
}

#define TRAINX_GROUPED(T)                                                                    \
  template cudaError_t grouped_linear(const GroupedLinear<T>&, cudaStream_t);                \
  template cudaError_t grouped_linear_backward_input(const GroupedLinearBackwardInput<T>&,   \
                                                     cudaStream_t);                          \
  template cudaError_t grouped_linear_backward_weight(const GroupedLinearBackwardWeight<T>&, \
                                                      cudaStream_t);
TRAINX_GROUPED(Bf16)
TRAINX_GROUPED(Fp16)
#undef TRAINX_GROUPED

}  // namespace trainx::kernels::hopper
