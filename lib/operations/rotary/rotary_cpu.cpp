#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/rotary/rotary_backends.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace trainx::operations {

namespace {

/// [length, pairs] of positions.
struct Angles {
  std::vector<float> cos, sin;
};

/// Of positions from `first` on; `sign`: 1 or, back, -1.
Angles angles(const Rotary& r, std::int64_t first, float sign) {
  Angles all;
  const auto count = static_cast<std::size_t>(r.length) * r.frequencies.size();
  all.cos.reserve(count), all.sin.reserve(count);
  const auto factor = static_cast<float>(r.factor);
  for (std::int64_t t = 0; t < r.length; ++t)
    for (const float f : r.frequencies) {
      const float angle = static_cast<float>(first + t) * f;
      all.cos.push_back(std::cos(angle) * factor);
      all.sin.push_back(sign * (std::sin(angle) * factor));
    }
  return all;
}

/// Turns n pairs (x[p], x[n + p]).
template <class T>
TRAINX_INLINE void turn_halves_of(T* y, const T* x, const float* cos, const float* sin,
                                  std::int64_t n) {
#pragma omp simd
  for (std::int64_t p = 0; p < n; ++p) {
    const float a = load(x[p]), b = load(x[n + p]);
    store(y[p], a * cos[p] - b * sin[p]);
    store(y[n + p], b * cos[p] + a * sin[p]);
  }
}
TRAINX_CLONES void turn_halves(float* y, const float* x, const float* cos, const float* sin,
                               std::int64_t n) {
  turn_halves_of(y, x, cos, sin, n);
}
TRAINX_CLONES void turn_halves(Bf16* y, const Bf16* x, const float* cos, const float* sin,
                               std::int64_t n) {
  turn_halves_of(y, x, cos, sin, n);
}
TRAINX_CLONES void turn_halves(Fp16* y, const Fp16* x, const float* cos, const float* sin,
                               std::int64_t n) {
  turn_halves_of(y, x, cos, sin, n);
}

class Turn {
 public:
  Turn(const Rotary& r, std::int64_t rows, std::int64_t columns, const Tensor& starts,
       std::int64_t past, float sign)
      : r_(r),
        pairs_(static_cast<std::int64_t>(r.frequencies.size())),
        heads_(r.query_heads + r.key_value_heads),
        columns_(columns),
        rows_(rows),
        starts_(starts.defined() ? starts.as<const std::int32_t>() : nullptr),
        table_(angles(r, past, sign)) {}

  template <class T>
  void run(T* y, const T* x, const T* cut) const {
    tensor::parallel_for(0, rows_, row_grain(columns_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = row * columns_, angle = place(row) * pairs_;
        const float *const cos = table_.cos.data() + angle, *const sin = table_.sin.data() + angle;
        if (r_.clip > 0 || r_.neighbours)
          turn_row(y + at, x + at, cut ? cut + at : nullptr, cos, sin);
        else
          turn_halves_of_row(y + at, x + at, cos, sin);
      }
    });
  }

 private:
  /// Of the row's position in the table; padding of documents stands at the first.
  std::int64_t place(std::int64_t row) const {
    const std::int64_t t = row % r_.length;
    if (!starts_) return t;
    return starts_[row] < 0 ? 0 : t - starts_[row];
  }
  float within(float v) const {
    const auto c = static_cast<float>(r_.clip);
    return r_.clip > 0 ? std::clamp(v, -c, c) : v;
  }
  template <class T>
  void turn_halves_of_row(T* y, const T* x, const float* cos, const float* sin) const {
    const std::int64_t D = r_.head_size, turned = 2 * pairs_;
    for (std::int64_t h = 0; h < heads_; ++h) {
      turn_halves(y + h * D, x + h * D, cos, sin, pairs_);
      if (y != x) std::copy_n(x + h * D + turned, D - turned, y + h * D + turned);
    }
    if (y != x) std::copy_n(x + heads_ * D, columns_ - heads_ * D, y + heads_ * D);
  }
  template <class T>
  void turn_row(T* y, const T* x, const T* cut, const float* cos, const float* sin) const {
    const std::int64_t D = r_.head_size, half = r_.neighbours ? 1 : pairs_,
                       step = r_.neighbours ? 2 : 1;
    const auto value = [&](std::int64_t c) { return cut ? load(x[c]) : within(load(x[c])); };
    const auto put = [&](std::int64_t c, float v) {
      if (cut && r_.clip > 0 && std::abs(load(cut[c])) > static_cast<float>(r_.clip)) v = 0;
      store(y[c], v);
    };
    for (std::int64_t h = 0; h < heads_; ++h) {
      for (std::int64_t p = 0; p < pairs_; ++p) {
        const std::int64_t i = h * D + p * step, j = i + half;
        const float a = value(i), b = value(j);
        put(i, a * cos[p] - b * sin[p]);
        put(j, b * cos[p] + a * sin[p]);
      }
      for (std::int64_t c = h * D + 2 * pairs_; c < (h + 1) * D; ++c) put(c, value(c));
    }
    for (std::int64_t c = heads_ * D; c < columns_; ++c) put(c, value(c));
  }

  const Rotary& r_;
  std::int64_t pairs_, heads_, columns_, rows_;
  const std::int32_t* starts_;
  Angles table_;
};

}  // namespace

void cpu::rotate(const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
                 std::int64_t past) {
  const TimedWork timed(Work::norm);
  const Turn turn(r, x.size(0), x.size(1), starts, past, 1);
  with_element(x, [&]<class T>(T) { turn.run<T>(data<T>(y), data<T>(x), nullptr); });
}

void cpu::rotate_backward(const Rotary& r, const Tensor& dx, const Tensor& dy, const Tensor& x,
                          const Tensor& starts) {
  const TimedWork timed(Work::norm);
  const Turn turn(r, dy.size(0), dy.size(1), starts, 0, -1);
  with_element(dy, [&]<class T>(T) {
    // without a cut the gradient itself stands for x: only its being there matters
    turn.run<T>(data<T>(dx), data<T>(dy), data<T>(x.defined() ? x : dy));
  });
}

}  // namespace trainx::operations
