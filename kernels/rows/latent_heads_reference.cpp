#include "kernels/rows/latent_heads.hpp"
#include <vector>

namespace trainx::kernels {
namespace {

/// Calls f(part, column of y, column of the part) for each column that the parts bring: queries
/// (0), keys_values (1), latent (2).
template <class T, class F>
void for_columns(const LatentHeads<T>& op, F f) {
  const std::int64_t H = op.heads, D = op.head_size(), V = op.value_size;
  for (std::int64_t h = 0; h < H; ++h) {
    for (std::int64_t d = 0; d < op.plain; ++d) {
      f(0, h * D + op.rope + d, h * D + d);
      f(1, (H + h) * D + op.rope + d, h * (op.plain + V) + d);
    }
    for (std::int64_t d = 0; d < op.rope; ++d) {
      f(0, h * D + d, h * D + op.plain + d);
      f(2, (H + h) * D + d, op.latent_columns - op.rope + d);
    }
    for (std::int64_t d = 0; d < V; ++d)
      f(1, 2 * H * D + h * V + d, h * (op.plain + V) + op.plain + d);
  }
}

template <class T>
std::vector<std::int64_t> widths_of(const LatentHeads<T>& op) {
  return {op.heads * op.head_size(), op.heads * (op.plain + op.value_size), op.latent_columns};
}

}  // namespace

template <class T>
void latent_heads_reference(const LatentHeads<T>& op) {
  const T* const parts[] = {op.queries, op.keys_values, op.latent};
  const std::vector<std::int64_t> widths = widths_of(op);
  const std::int64_t pitch = op.heads * (2 * op.head_size() + op.value_size);
  for (std::int64_t n = 0; n < op.rows; ++n)
    for_columns(op, [&](int part, std::int64_t to, std::int64_t from) {
      op.y[n * pitch + to] = parts[part][n * widths[static_cast<std::size_t>(part)] + from];
    });
}

template <class T>
void latent_heads_backward_reference(const LatentHeadsBackward<T>& op) {
  T* const parts[] = {op.queries, op.keys_values, op.latent};
  const T* const addends[] = {op.queries_addend, op.keys_values_addend, op.latent_addend};
  const std::vector<std::int64_t> widths = widths_of(op.of);
  const std::int64_t pitch = op.of.heads * (2 * op.of.head_size() + op.of.value_size);
  for (std::int64_t n = 0; n < op.of.rows; ++n) {
    std::vector<std::vector<float>> sums;
    for (const std::int64_t width : widths) sums.emplace_back(static_cast<std::size_t>(width));
    for_columns(op.of, [&](int part, std::int64_t from, std::int64_t to) {
      sums[static_cast<std::size_t>(part)][static_cast<std::size_t>(to)] +=
          widened(op.dy[n * pitch + from]);
    });
    for (std::size_t part = 0; part < 3; ++part)
      for (std::int64_t c = 0; parts[part] && c < widths[part]; ++c) {
        const std::int64_t i = n * widths[part] + c;
        narrow(sums[part][static_cast<std::size_t>(c)] +
                   (addends[part] ? widened(addends[part][i]) : 0.0f),
               parts[part][i]);
      }
  }
}

#define TRAINX_LATENT_HEADS(T)                                 \
  template void latent_heads_reference(const LatentHeads<T>&); \
  template void latent_heads_backward_reference(const LatentHeadsBackward<T>&);
TRAINX_LATENT_HEADS(float)
TRAINX_LATENT_HEADS(Bf16)
TRAINX_LATENT_HEADS(Fp16)
#undef TRAINX_LATENT_HEADS

}  // namespace trainx::kernels
