#include "kernels/norm/head_norm.hpp"
#include "gpu/operands.hpp"

namespace head_norm_test {

using namespace trainx::kernels;

namespace {

struct Case {
  HeadNormShape shape;
  bool weighted = true, biased = false, accumulate = false;
  std::size_t shift = 0;
};

HeadNormShape shape(std::int64_t rows, std::int64_t query_heads, std::int64_t key_heads,
                    std::int64_t head_size, bool whole = false, bool rms = true,
                    bool by_column = false) {
  HeadNormShape s;
  s.rows = rows, s.query_heads = query_heads, s.key_value_heads = key_heads;
  s.head_size = head_size, s.whole = whole, s.rms = rms;
  s.by_column[0] = s.by_column[1] = by_column;
  return s;
}

std::int64_t width_of(const HeadNormShape& s, int part) {
  const std::int64_t heads = part == 0 ? s.query_heads : s.key_value_heads;
  return (s.whole || s.by_column[part] ? heads : 1) * s.head_size;
}

template <class T>
struct Operands {
  std::vector<T> x, dy, weight[2], bias[2];
  std::vector<float> before[2];  // of gradients that are added to
  explicit Operands(const HeadNormShape& s)
      : x(random_elements<T>(s.rows * s.columns(), 1, 2, 0.3f)),
        dy(random_elements<T>(s.rows * s.columns(), 2)) {
    for (int part = 0; part < 2; ++part) {
      const auto seed = static_cast<unsigned>(3 + part);
      weight[part] = random_elements<T>(width_of(s, part), seed, 0.3f, 1);
      bias[part] = random_elements<T>(width_of(s, part), seed + 2);
      before[part] = random_elements<float>(width_of(s, part), seed + 4);
    }
  }
};

template <class T>
struct Results {
  std::vector<T> y, dx;
  std::vector<float> mean, rstd, d_weight[2], d_bias[2];
};

template <class T>
Results<T> empty_results(const HeadNormShape& s, const Operands<T>& in) {
  Results<T> out;
  out.y.resize(in.x.size()), out.dx.resize(in.x.size());
  out.mean.resize(static_cast<std::size_t>(s.rows * s.groups()));
  out.rstd = out.mean;
  for (int part = 0; part < 2; ++part) out.d_weight[part] = out.d_bias[part] = in.before[part];
  return out;
}

template <class T>
Results<T> reference_of(const Case& c, const Operands<T>& in) {
  Results<T> out = empty_results(c.shape, in);
  HeadNorm<T> op{c.shape, in.x.data(), out.y.data(), out.mean.data(), out.rstd.data()};
  HeadNormBackward<T> back{c.shape, in.dy.data(), in.x.data(),
                           c.shape.rms ? nullptr : out.mean.data(), out.rstd.data()};
  back.dx = out.dx.data(), back.accumulate = c.accumulate;
  for (int part = 0; part < 2; ++part) {
    if (c.weighted) {
      op.weight[part] = back.weight[part] = in.weight[part].data();
      back.d_weight[part] = out.d_weight[part].data();
    }
    if (c.biased) op.bias[part] = in.bias[part].data(), back.d_bias[part] = out.d_bias[part].data();
  }
  head_norm_reference(op);
  head_norm_backward_reference(back);
  return out;
}

template <class T>
Results<T> device_of(const Case& c, const Operands<T>& in) {
  const Results<T> empty = empty_results(c.shape, in);
  const OnDevice<T> x(in.x, c.shift), dy(in.dy, c.shift), y(empty.y, c.shift),
      weight[2] = {OnDevice<T>(in.weight[0], c.shift), OnDevice<T>(in.weight[1], c.shift)},
      bias[2] = {OnDevice<T>(in.bias[0], c.shift), OnDevice<T>(in.bias[1], c.shift)};
  const OnDevice<float> mean(empty.mean), rstd(empty.rstd),
      d_weight[2] = {OnDevice<float>(in.before[0]), OnDevice<float>(in.before[1])},
      d_bias[2] = {OnDevice<float>(in.before[0]), OnDevice<float>(in.before[1])};
  HeadNorm<T> op{c.shape, x.data(), y.data(), mean.data(), rstd.data()};
  // over the gradient that comes in
  HeadNormBackward<T> back{c.shape, dy.data(), x.data(), c.shape.rms ? nullptr : mean.data(),
                           rstd.data()};
  back.dx = dy.data(), back.accumulate = c.accumulate;
  for (int part = 0; part < 2; ++part) {
    if (c.weighted) {
      op.weight[part] = back.weight[part] = weight[part].data();
      back.d_weight[part] = d_weight[part].data();
    }
    if (c.biased) op.bias[part] = bias[part].data(), back.d_bias[part] = d_bias[part].data();
  }
  require_success(head_norm(op, nullptr), "head_norm");
  const Folding folding(head_norm_backward_partial_bytes(c.shape, c.biased));
  require_success(head_norm_backward(back, folding.memory(), nullptr), "head_norm_backward");
  folding.check();
  Results<T> out{y.host(), dy.host(), mean.host(), rstd.host(), {}, {}};
  for (int part = 0; part < 2; ++part)
    out.d_weight[part] = d_weight[part].host(), out.d_bias[part] = d_bias[part].host();
  // in place
  op.y = x.data();
  require_success(head_norm(op, nullptr), "head_norm");
  CHECK(same_bits(x.host(), out.y));
  return out;
}

template <class T>
void compare(const Case& c) {
  const HeadNormShape& s = c.shape;
  INFO("rows " << s.rows << " heads " << s.query_heads << " + " << s.key_value_heads << " of "
               << s.head_size << " whole " << s.whole << " rms " << s.rms << " by column "
               << s.by_column[0] << " weighted " << c.weighted << " biased " << c.biased
               << " accumulate " << c.accumulate << " shift " << c.shift << " bytes " << sizeof(T));
  const Operands<T> in(s);
  const Results<T> want = reference_of(c, in), got = device_of(c, in);
  check_close(got.mean, want.mean, 1e-5, 1e-5, "mean");
  check_close(got.rstd, want.rstd, 1e-4, 1e-5, "rstd");
  // of one element LayerNorm leaves nothing but rounding, times a large rstd
  if (s.head_size == 1 && !s.rms && !s.whole) return;
  check_close(got.y, want.y, rounding<T>, 2e-5, "y");
  check_close(got.dx, want.dx, rounding<T>, 2e-5, "dx");
  const double sums = 1e-5 * (4 + std::sqrt(static_cast<double>(s.rows * s.columns())));
  for (int part = 0; part < 2; ++part) {
    check_close(got.d_weight[part], want.d_weight[part], 1e-4, sums, "d_weight");
    check_close(got.d_bias[part], want.d_bias[part], 1e-4, sums, "d_bias");
  }
}

template <class T>
void check_shapes() {
  for (const bool rms : {true, false})
    for (const std::size_t shift : {0u, 1u})
      for (const bool whole : {false, true}) {
        for (const bool by_column : {false, true}) {
          const auto with = [&](std::int64_t rows, std::int64_t q, std::int64_t k,
                                std::int64_t size) {
            Case c{shape(rows, q, k, size, whole, rms, by_column)};
            c.biased = !rms, c.accumulate = rows % 2 == 1, c.shift = shift;
            compare<T>(c);
          };
          with(5, 4, 2, 64);
          with(37, 3, 1, 80);
          with(2, 2, 2, 10);
          with(3, 1, 1, 1);
          with(4, 12, 12, 64);
          with(9, 32, 8, 128);
          with(3, 2, 1, 520);
        }
      }
  compare<T>({shape(1, 1, 1, 8), false});
  compare<T>({shape(6, 4, 4, 128, true), true, true});
  compare<T>({shape(3, 130, 2, 128), true, false, true});
  compare<T>({shape(0, 4, 2, 64)});
  compare<T>({shape(0, 4, 2, 64), true, false, true});
}

}  // namespace

TEST_CASE("norms of heads equal their reference for all shapes", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_shapes<float>();
  check_shapes<Bf16>();
  check_shapes<Fp16>();
}

TEST_CASE("norms of heads over many rows; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const bool whole : {false, true}) {
    const Case c{shape(3'001, 8, 2, 128, whole)};
    const Operands<Bf16> in(c.shape);
    const auto want = reference_of(c, in), first = device_of(c, in);
    check_close(first.dx, want.dx, rounding<Bf16>, 2e-5, "dx");
    check_close(first.d_weight[0], want.d_weight[0], 1e-4, 5e-2, "d_weight");
    check_close(first.d_weight[1], want.d_weight[1], 1e-4, 5e-2, "d_weight");
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto again = device_of(c, in);
      CHECK((same_bits(again.y, first.y) && same_bits(again.dx, first.dx) &&
             same_bits(again.d_weight[0], first.d_weight[0]) &&
             same_bits(again.d_weight[1], first.d_weight[1])));
    }
  }
}

TEST_CASE("NaN makes its head NaN and no other", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{shape(12, 4, 2, 64)};
  Operands<float> in(c.shape);
  const auto row = static_cast<std::size_t>(c.shape.columns());
  in.x[7 * row + 64 + 9] = std::numeric_limits<float>::quiet_NaN();
  const auto got = device_of(c, in);
  for (std::size_t i = 0; i < got.y.size(); ++i)
    if (std::isnan(got.y[i]) != (i / row == 7 && i % row / 64 == 1)) FAIL("element " << i);
}

}  // namespace head_norm_test
