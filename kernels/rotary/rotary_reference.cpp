#include "kernels/rotary/rotary.hpp"
#include "kernels/embedding/position_in_document.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::kernels {
namespace {

template <class T>
double value(const Rotary<T>& op, std::int64_t i) {
  const double v = widened(op.x[i]);
  return op.clip > 0 && !op.cut && v == v ? std::clamp(v, -op.clip, op.clip) : v;
}

template <class T>
void put(const Rotary<T>& op, std::int64_t i, double v) {
  const bool was_cut = op.clip > 0 && op.cut && std::abs(widened(op.cut[i])) > op.clip;
  narrow(static_cast<float>(was_cut ? 0 : v), op.y[i]);
}

}  // namespace

template <class T>
void rotary_reference(const Rotary<T>& op) {
  for (std::int64_t r = 0; r < op.rows; ++r) {
    const std::int64_t position =
        op.past + position_in_document(r, op.length, op.starts ? op.starts + r : nullptr);
    const std::int64_t row = r * op.columns;
    for (std::int64_t h = 0; h < op.heads; ++h) {
      const std::int64_t head = row + h * op.head_size;
      for (std::int64_t p = 0; p < op.pairs; ++p) {
        const float angle = static_cast<float>(position) * op.frequencies[p];
        const double cos = std::cos(static_cast<double>(angle)) * op.factor,
                     sin = std::sin(static_cast<double>(angle)) * op.factor * (op.back ? -1 : 1);
        const std::int64_t i = head + (op.neighbours ? 2 * p : p),
                           j = i + (op.neighbours ? 1 : op.pairs);
        const double a = value(op, i), b = value(op, j);
        put(op, i, a * cos - b * sin);
        put(op, j, b * cos + a * sin);
      }
      for (std::int64_t c = 2 * op.pairs; c < op.head_size; ++c)
        put(op, head + c, value(op, head + c));
    }
    for (std::int64_t c = op.heads * op.head_size; c < op.columns; ++c)
      put(op, row + c, value(op, row + c));
  }
}

template void rotary_reference(const Rotary<float>&);
template void rotary_reference(const Rotary<Bf16>&);
template void rotary_reference(const Rotary<Fp16>&);

}  // namespace trainx::kernels
