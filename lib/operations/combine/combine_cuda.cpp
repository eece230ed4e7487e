#include "kernels/experts/combine_rows.hpp"
#include "operations/combine/combine_backends.hpp"
#include "operations/common/launch.hpp"

namespace trainx::operations::cuda {
namespace {

template <class T>
kernels::CombineRows<T> combined_of(const CombineParts& of, std::int64_t tokens,
                                    std::int64_t columns) {
  kernels::CombineRows<T> op;
  op.tokens = tokens;
  op.per_token = of.places.numel() / tokens;
  op.columns = columns;
  op.rows = pointer<T>(of.rows);
  op.weights = pointer<float>(of.weights);
  op.places = pointer<std::int32_t>(of.places);
  op.shared = pointer<T>(of.shared);
  op.gate = pointer<T>(of.gate);
  op.sparse = of.sparse;
  return op;
}

}  // namespace

void combine(const Gpu& gpu, const Tensor& y, const CombineParts& of) {
  with_kernel_element(y, [&]<class T>(T) {
    auto op = combined_of<T>(of, y.size(0), y.size(1));
    op.y = pointer<T>(y);
    gpu::require(kernels::combine_rows(op, gpu.space.stream), "rows of experts to tokens");
  });
  gpu.done(Work::sum);
}

void combine_backward(const Gpu& gpu, const CombineParts& to, const Tensor& dy,
                      const CombineParts& of) {
  with_kernel_element(dy, [&]<class T>(T) {
    kernels::CombineRowsBackward<T> op;
    op.of = combined_of<T>(of, dy.size(0), dy.size(1));
    op.dy = pointer<T>(dy);
    op.d_rows = pointer<T>(to.rows);
    op.d_weights = pointer<float>(to.weights);
    op.d_shared = pointer<T>(to.shared);
    op.d_gate = pointer<T>(to.gate);
    gpu::require(kernels::combine_rows_backward(op, gpu.space.stream),
                 "rows of experts to tokens backward");
  });
  gpu.done(Work::sum);
}

}  // namespace trainx::operations::cuda
