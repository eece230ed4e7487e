#include "kernels/rows/columns.hpp"
#include "operations/columns/columns_backends.hpp"
#include "operations/common/launch.hpp"

namespace trainx::operations::cuda {

void take_columns(const Gpu& gpu, const Tensor& y, const Tensor& x, std::int64_t first) {
  const std::int64_t count = y.size(1);
  with_kernel_element(y, [&]<class T>(T) {
    gpu::require(kernels::copy_heads<T>({pointer<T>(y), count, 0, count},
                                        {pointer<T>(x), x.size(1), first, count}, x.size(0), 1,
                                        gpu.space.stream),
                 "columns");
  });
  gpu.done(Work::norm);
}

void take_columns_backward(const Gpu& gpu, const Tensor& dx, const Tensor& dy, std::int64_t first,
                           const Tensor& addend) {
  with_kernel_element(dx, [&]<class T>(T) {
    const kernels::PutColumns<T> op{dx.size(0),     dx.size(1),         first,         dy.size(1),
                                    pointer<T>(dy), pointer<T>(addend), pointer<T>(dx)};
    gpu::require(kernels::put_columns(op, gpu.space.stream), "gradients of columns");
  });
  gpu.done(Work::norm);
}

void copy_columns_of_rows(const Gpu& gpu, const ColumnsFrom& to, const ColumnsFrom& from,
                          std::int64_t count) {
  with_kernel_element(to.of, [&]<class T>(T) {
    gpu::require(kernels::copy_heads<T>({pointer<T>(to.of), to.of.size(1), to.first, count},
                                        {pointer<T>(from.of), from.of.size(1), from.first, count},
                                        to.of.size(0), 1, gpu.space.stream),
                 "columns of rows");
  });
  gpu.done(Work::norm);
}

void add_columns_of_rows(const Gpu& gpu, const ColumnsFrom& to, const ColumnsFrom& from,
                         std::int64_t count) {
  with_kernel_element(to.of, [&]<class T>(T) {
    gpu::require(kernels::add_heads<T>({pointer<T>(to.of), to.of.size(1), to.first, count},
                                       {pointer<T>(from.of), from.of.size(1), from.first, count},
                                       to.of.size(0), 1, gpu.space.stream),
                 "columns added to rows");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
