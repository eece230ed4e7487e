#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/rotary/rotary_backends.hpp"
#include <ATen/Parallel.h>
#include <cmath>
#include <vector>

namespace trainx::operations {

namespace {

struct Angle {
  float cos, sin;
};

/// [length, pairs] of positions from `first` on.
std::vector<Angle> angles(const Rotary& r, std::int64_t first, std::int64_t length) {
  std::vector<Angle> all;
  all.reserve(static_cast<std::size_t>(length) * r.frequencies.size());
  const auto factor = static_cast<float>(r.factor);
  for (std::int64_t t = 0; t < length; ++t)
    for (const float f : r.frequencies) {
      const float angle = static_cast<float>(first + t) * f;
      all.push_back({std::cos(angle) * factor, std::sin(angle) * factor});
    }
  return all;
}

class Turn {
 public:
  Turn(const Rotary& r, std::int64_t rows, std::int64_t columns, const Tensor& starts,
       std::int64_t past)
      : r_(r),
        pairs_(static_cast<std::int64_t>(r.frequencies.size())),
        heads_(r.query_heads + r.key_value_heads),
        columns_(columns),
        rows_(rows),
        starts_(starts.defined() ? starts.as<const std::int32_t>() : nullptr),
        table_(angles(r, past, r.length)) {}

  /// `sign`: 1 or, back, -1.
  template <class T>
  void run(T* y, const T* x, const T* cut, float sign) const {
    at::parallel_for(0, rows_, row_grain(columns_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = row * columns_;
        turn_row(y + at, x + at, cut ? cut + at : nullptr, table_.data() + place(row) * pairs_,
                 sign);
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
  void turn_row(T* y, const T* x, const T* cut, const Angle* angle, float sign) const {
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
        const float a = value(i), b = value(j), cos = angle[p].cos, sin = sign * angle[p].sin;
        put(i, a * cos - b * sin);
        put(j, b * cos + a * sin);
      }
      for (std::int64_t c = h * D + 2 * pairs_; c < (h + 1) * D; ++c) put(c, value(c));
    }
    for (std::int64_t c = heads_ * D; c < columns_; ++c) put(c, value(c));
  }

  const Rotary& r_;
  std::int64_t pairs_, heads_, columns_, rows_;
  const std::int32_t* starts_;
  std::vector<Angle> table_;
};

}  // namespace

void cpu::rotate(const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
                 std::int64_t past) {
  const TimedWork timed(Work::norm);
  const Turn turn(r, x.size(0), x.size(1), starts, past);
  with_element(x, [&]<class T>(T) { turn.run<T>(data<T>(y), data<T>(x), nullptr, 1); });
}

void cpu::rotate_backward(const Rotary& r, const Tensor& dx, const Tensor& dy, const Tensor& x,
                          const Tensor& starts) {
  const TimedWork timed(Work::norm);
  const Turn turn(r, dy.size(0), dy.size(1), starts, 0);
  with_element(dy, [&]<class T>(T) {
    // without a cut the gradient itself stands for x: only its being there matters
    turn.run<T>(data<T>(dx), data<T>(dy), data<T>(x.defined() ? x : dy), -1);
  });
}

}  // namespace trainx::operations
