#include "kernels/experts/dispatch_rows.hpp"
#include "operations/common/launch.hpp"
#include "operations/dispatch/dispatch_backends.hpp"

namespace trainx::operations::cuda {

void sort_by_expert(const Gpu& gpu, const Tensor& places, const Tensor& offsets,
                    const Tensor& indices, std::int64_t experts, const ExpertChoices& choices) {
  if (gpu.space.workspace_bytes < kernels::expert_sort_scratch_bytes(experts))
    throw InternalError("dispatch: the workspace is too small for counts of experts");
  kernels::ExpertSort op;
  op.items = indices.numel();
  op.experts = experts;
  op.indices = pointer<std::int32_t>(indices);
  op.places = pointer<std::int32_t>(places);
  op.offsets = pointer<std::int32_t>(offsets);
  op.capacity = choices.capacity;
  gpu::require(
      kernels::expert_sort(op, static_cast<std::int32_t*>(gpu.space.workspace), gpu.space.stream),
      "sort by expert");
  gpu.done(Work::copy);
}

void dispatch_rows(const Gpu& gpu, const Tensor& rows, const Tensor& x, const Tensor& places) {
  with_kernel_element(x, [&]<class T>(T) {
    kernels::DispatchRows<T> op;
    op.tokens = x.size(0);
    op.per_token = places.numel() / op.tokens;
    op.columns = x.size(1);
    op.places = pointer<std::int32_t>(places);
    op.x = pointer<T>(x);
    op.rows = pointer<T>(rows);
    gpu::require(kernels::dispatch_rows(op, gpu.space.stream), "rows by expert");
  });
  gpu.done(Work::copy);
}

void dispatch_rows_backward(const Gpu& gpu, const Tensor& dx, const Tensor& d_rows,
                            const Tensor& places, const Tensor& addend, bool sparse) {
  with_kernel_element(dx, [&]<class T>(T) {
    kernels::DispatchRowsBackward<T> op;
    op.tokens = dx.size(0);
    op.per_token = places.numel() / op.tokens;
    op.columns = dx.size(1);
    op.places = pointer<std::int32_t>(places);
    op.d_rows = pointer<T>(d_rows);
    op.addend = pointer<T>(addend);
    op.sparse = sparse;
    op.dx = pointer<T>(dx);
    gpu::require(kernels::dispatch_rows_backward(op, gpu.space.stream), "rows by expert backward");
  });
  gpu.done(Work::copy);
}

}  // namespace trainx::operations::cuda
