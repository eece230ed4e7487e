#include "operations/common/timed_work.hpp"
#include "operations/latent_heads/latent_heads_backends.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/sum.h>

namespace trainx::operations::cpu {

using tensor::torch_view;

namespace {

/// [N, H, columns] of the heads in y: queries (0), keys (1), values (2).
at::Tensor part_of(const LatentHeads& l, const at::Tensor& y, int part) {
  const std::int64_t wide = part == 2 ? l.value_size : l.head_size();
  return y.narrow(1, part * l.heads * l.head_size(), l.heads * wide).unflatten(1, {l.heads, wide});
}
/// Columns of a head: that turn, that do not.
at::Tensor turning(const LatentHeads& l, const at::Tensor& heads) {
  return heads.narrow(2, 0, l.rope);
}
at::Tensor resting(const LatentHeads& l, const at::Tensor& heads) {
  return heads.narrow(2, l.rope, l.plain);
}
at::Tensor by_head(const LatentHeads& l, const Tensor& x) {
  const at::Tensor rows = torch_view(x);
  return rows.unflatten(1, {l.heads, rows.size(1) / l.heads});
}
/// to = what is there already, or 0.
void begin(const Tensor& to, const Tensor& addend) {
  if (!addend.defined())
    torch_view(to).zero_();
  else if (addend.data != to.data)
    torch_view(to).copy_(torch_view(addend));
}

}  // namespace

void latent_heads(const LatentHeads& l, const Tensor& y, const LatentParts& from) {
  const TimedWork timed(Work::norm);
  const at::Tensor to = torch_view(y), queries = part_of(l, to, 0), keys = part_of(l, to, 1);
  const at::Tensor q = by_head(l, from.queries), kv = by_head(l, from.keys_values),
                   latent = torch_view(from.latent);
  resting(l, queries).copy_(q.narrow(2, 0, l.plain));
  turning(l, queries).copy_(q.narrow(2, l.plain, l.rope));
  resting(l, keys).copy_(kv.narrow(2, 0, l.plain));
  turning(l, keys).copy_(latent.narrow(1, latent.size(1) - l.rope, l.rope).unsqueeze(1));
  part_of(l, to, 2).copy_(kv.narrow(2, l.plain, l.value_size));
}

void latent_heads_backward(const LatentHeads& l, const LatentParts& to, const Tensor& dy,
                           const LatentParts& addends) {
  const TimedWork timed(Work::norm);
  const at::Tensor from = torch_view(dy), queries = part_of(l, from, 0), keys = part_of(l, from, 1);
  if (to.queries.defined()) {
    begin(to.queries, addends.queries);
    const at::Tensor q = by_head(l, to.queries);
    q.narrow(2, 0, l.plain).add_(resting(l, queries));
    q.narrow(2, l.plain, l.rope).add_(turning(l, queries));
  }
  if (to.keys_values.defined()) {
    begin(to.keys_values, addends.keys_values);
    const at::Tensor kv = by_head(l, to.keys_values);
    kv.narrow(2, 0, l.plain).add_(resting(l, keys));
    kv.narrow(2, l.plain, l.value_size).add_(part_of(l, from, 2));
  }
  if (to.latent.defined()) {
    begin(to.latent, addends.latent);
    const at::Tensor latent = torch_view(to.latent);
    latent.narrow(1, latent.size(1) - l.rope, l.rope)
        .add_(turning(l, keys).to(at::kFloat).sum(1));  // heads add up in fp32
  }
}

}  // namespace trainx::operations::cpu
