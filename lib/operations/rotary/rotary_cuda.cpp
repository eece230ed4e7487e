#include "kernels/rotary/rotary.hpp"
#include "operations/common/launch.hpp"
#include "operations/rotary/rotary_backends.hpp"

namespace trainx::operations::cuda {
namespace {

template <class T>
kernels::Rotary<T> rotary_of(const Rotary& r, const Tensor& y, const Tensor& x,
                             const Tensor& starts) {
  kernels::Rotary<T> op;
  op.rows = x.size(0);
  op.columns = x.size(1);
  op.length = r.length;
  op.heads = r.query_heads + r.key_value_heads;
  op.head_size = r.head_size;
  op.frequencies = r.frequencies.data();
  op.pairs = static_cast<std::int64_t>(r.frequencies.size());
  op.factor = r.factor;
  op.neighbours = r.neighbours;
  op.clip = r.clip;
  op.x = pointer<T>(x);
  op.y = pointer<T>(y);
  op.starts = pointer<std::int32_t>(starts);
  return op;
}

}  // namespace

void rotate(const Gpu& gpu, const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
            std::int64_t past) {
  with_kernel_element(x, [&]<class T>(T) {
    kernels::Rotary<T> op = rotary_of<T>(r, y, x, starts);
    op.past = past;
    gpu::require(kernels::rotary(op, gpu.space.stream), "rotary embedding");
  });
  gpu.done(Work::norm);
}

void rotate_backward(const Gpu& gpu, const Rotary& r, const Tensor& dx, const Tensor& dy,
                     const Tensor& x, const Tensor& starts) {
  with_kernel_element(dy, [&]<class T>(T) {
    kernels::Rotary<T> op = rotary_of<T>(r, dx, dy, starts);
    op.back = true;
    // where nothing was cut there is no x
    op.cut = pointer<T>(x);
    if (!x.defined()) op.clip = 0;
    gpu::require(kernels::rotary(op, gpu.space.stream), "rotary embedding backward");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
