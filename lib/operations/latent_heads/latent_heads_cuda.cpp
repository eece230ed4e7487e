#include "kernels/rows/latent_heads.hpp"
#include "operations/common/launch.hpp"
#include "operations/latent_heads/latent_heads_backends.hpp"

namespace trainx::operations::cuda {
namespace {

template <class T>
kernels::LatentHeads<T> sizes_of(const LatentHeads& l, std::int64_t rows) {
  kernels::LatentHeads<T> op;
  op.rows = rows;
  op.heads = l.heads;
  op.plain = l.plain;
  op.rope = l.rope;
  op.value_size = l.value_size;
  return op;
}

}  // namespace

void latent_heads(const Gpu& gpu, const LatentHeads& l, const Tensor& y, const LatentParts& from) {
  with_kernel_element(y, [&]<class T>(T) {
    auto op = sizes_of<T>(l, from.queries.size(0));
    op.latent_columns = from.latent.size(1);
    op.queries = pointer<T>(from.queries);
    op.keys_values = pointer<T>(from.keys_values);
    op.latent = pointer<T>(from.latent);
    op.y = pointer<T>(y);
    gpu::require(kernels::latent_heads(op, gpu.space.stream), "latent heads");
  });
  gpu.done(Work::norm);
}

void latent_heads_backward(const Gpu& gpu, const LatentHeads& l, const LatentParts& to,
                           const Tensor& dy, const LatentParts& addends) {
  with_kernel_element(dy, [&]<class T>(T) {
    kernels::LatentHeadsBackward<T> op;
    op.of = sizes_of<T>(l, dy.size(0));
    if (to.latent.defined()) op.of.latent_columns = to.latent.size(1);
    op.dy = pointer<T>(dy);
    op.queries = pointer<T>(to.queries);
    op.keys_values = pointer<T>(to.keys_values);
    op.latent = pointer<T>(to.latent);
    op.queries_addend = pointer<T>(addends.queries);
    op.keys_values_addend = pointer<T>(addends.keys_values);
    op.latent_addend = pointer<T>(addends.latent);
    gpu::require(kernels::latent_heads_backward(op, gpu.space.stream), "latent heads backward");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
