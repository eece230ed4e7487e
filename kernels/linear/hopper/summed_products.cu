#include "kernels/linear/hopper/summed_products.hpp"
#include "kernels/linear/hopper/linear_launch.cuh"

namespace trainx::kernels::hopper {
namespace {

// of the right operand along the sum, that a block copies
constexpr int right_rows = tile_columns / cluster_blocks;

struct SummedArguments {
  LinearArguments linear;
  AddedProducts added;
};

template <class Form, class T>
__global__ void __launch_bounds__(Form::Cut::threads, 1)
    hopper_summed_gemm_kernel(const __grid_constant__ SummedArguments a) {
  using C = typename Form::Cut;
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory);
  const LinearBarriers<C> barriers{shared + C::barriers_at};
  const int warp = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  set_up_barriers<Form>(barriers, 0);
  if (warp < 4 * C::groups) {
    take_registers<C::computing_registers>();
    multiply_linear_tiles<Form, T>(a.linear, a.added, shared, barriers, warp);
  } else {
    give_registers<C::other_registers>();
    if (warp == 4 * C::groups && threadIdx.x % 32 == 0)
      copy_linear_tiles<Form, T>(a.linear, a.added, shared, barriers);
  }
  meet_cluster();
}

/// `columns`: of the result.
template <class T>
bool is_supported(const AddedProduct<T>& p, std::int64_t rows, std::int64_t columns,
                  bool right_along_sum) {
  const bool is_inside = p.first >= 0 && p.width > 0 && p.first + p.width <= columns,
             reaches_all = p.first == 0 && p.width == columns;
  return is_inside && (right_along_sum || reaches_all) && p.first % 8 == 0 && p.width % 8 == 0 &&
         p.left_stride % 8 == 0 && p.left_stride >= p.depth &&
         linear_fits(rows, columns, p.depth) && all_aligned({p.left, p.right});
}

template <class T>
cudaError_t make_maps(AddedProducts::Part& part, const AddedProduct<T>& p, std::int64_t rows,
                      bool right_along_sum) {
  part.first = static_cast<int>(p.first), part.width = static_cast<int>(p.width);
  part.depth = static_cast<int>(p.depth);
  const cudaError_t error = make_matrix_map(
      part.a, p.left, {p.depth, rows, 1, p.left_stride, p.left_stride * rows}, tile_rows);
  if (error != cudaSuccess) return error;
  const std::int64_t size = p.width * p.depth;
  return right_along_sum
             ? make_matrix_map(part.b, p.right, {p.depth, p.width, 1, p.depth, size}, right_rows)
             : make_matrix_map(part.b, p.right, {p.width, p.depth, 1, p.width, size}, box_rows);
}

template <bool right_along_sum, int added_products, class T>
cudaError_t launch_adding(SummedArguments& a, cudaStream_t stream) {
  using Form = LinearForm<right_along_sum, true, false, added_products>;
  return launch_linear<Form>(hopper_summed_gemm_kernel<Form, T>, a, a.linear, stream);
}

template <bool right_along_sum, class T>
cudaError_t launch(SummedArguments& a, cudaStream_t stream) {
  int deepest = 0;
  for (int p = 0; p < a.added.count; ++p)
    deepest = a.added.parts[p].depth > deepest ? a.added.parts[p].depth : deepest;
  return deepest <= 16   ? launch_adding<right_along_sum, 1, T>(a, stream)
         : deepest <= 32 ? launch_adding<right_along_sum, 2, T>(a, stream)
                         : launch_adding<right_along_sum, 4, T>(a, stream);
}

}  // namespace

template <class T>
cudaError_t summed_products(const SummedProducts<T>& op, cudaStream_t stream) {
  if (!linear_fits(op.rows, op.columns, op.depth) || !is_hopper() || op.added_count < 0 ||
      op.added_count > most_added_products || !all_aligned({op.left, op.right, op.bias, op.result}))
    return cudaErrorNotSupported;
  SummedArguments a{};
  a.added.count = op.added_count;
  for (int i = 0; i < op.added_count; ++i)
    if (!is_supported(op.added[i], op.rows, op.columns, op.right_along_sum))
      return cudaErrorNotSupported;
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  for (int i = 0; i < op.added_count; ++i)
    if (const cudaError_t error =
            make_maps(a.added.parts[i], op.added[i], op.rows, op.right_along_sum);
        error != cudaSuccess)
      return error;
  const std::int64_t N = op.rows, C = op.columns, K = op.depth;
  for (const cudaError_t error :
       {make_matrix_map(a.linear.a, op.left, {K, N, 1, K, K * N}, tile_rows),
        op.right_along_sum ? make_matrix_map(a.linear.b, op.right, {K, C, 1, K, K * C}, right_rows)
                           : make_matrix_map(a.linear.b, op.right, {C, K, 1, C, C * K}, box_rows),
        make_matrix_map(a.linear.c, op.result, {C, N, 1, C, C * N}, stored_rows)})
    if (error != cudaSuccess) return error;
  a.linear.bias = op.bias;
  set_sizes(a.linear, N, C, K);
  return op.right_along_sum ? launch<true, T>(a, stream) : launch<false, T>(a, stream);
}

template cudaError_t summed_products(const SummedProducts<Bf16>&, cudaStream_t);
template cudaError_t summed_products(const SummedProducts<Fp16>&, cudaStream_t);

}  // namespace trainx::kernels::hopper
