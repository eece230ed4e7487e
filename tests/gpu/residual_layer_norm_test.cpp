#include "kernels/norm/residual_layer_norm.hpp"
#include "gpu/operands.hpp"

namespace residual_layer_norm_test {

using namespace trainx::kernels;

namespace {

const std::vector<std::int64_t> positions{5, 1ll << 35, 0, 12};
const DropoutKey key{0.1, 0xfedcba9876543210ull, 7, 3};

struct Case {
  std::int64_t rows, columns;
  std::size_t shift = 0;  // elements off alignment
  bool base = true, branch = true, bias = true, dropped = false, before = false, gathered = false;
};

template <class T>
struct Results {
  std::vector<T> sum, normed;
  std::vector<float> mean, rstd;
};

template <class T>
struct Operands {
  std::vector<T> base, branch, bias, gamma, beta, gamma_before, beta_before;
  std::vector<std::int64_t> sources;
  explicit Operands(const Case& c)
      : base(random_elements<T>(c.rows * c.columns, 1, 2, 0.5f)),
        branch(random_elements<T>(c.rows * c.columns, 2)),
        bias(random_elements<T>(c.columns, 3)),
        gamma(random_elements<T>(c.columns, 4, 0.2f, 1)),
        beta(random_elements<T>(c.columns, 5)),
        gamma_before(random_elements<T>(c.columns, 6, 0.2f, 1)),
        beta_before(random_elements<T>(c.columns, 7)) {
    for (std::int64_t r = 0; r < c.rows; ++r)
      sources.push_back(r % 5 == 4 ? -1 : (r * 7 + 3) % c.rows);
  }
};

// Without a base the sum is already there.
template <class T>
Results<T> empty_results(const Case& c, const Operands<T>& in) {
  Results<T> out;
  out.sum = c.base ? std::vector<T>(in.base.size()) : in.base;
  out.normed.resize(in.base.size());
  out.mean.resize(static_cast<std::size_t>(c.rows));
  out.rstd = out.mean;
  return out;
}

template <class T>
Results<T> reference_of(const Case& c, Operands<T> in) {
  Results<T> out = empty_results(c, in);
  ResidualLayerNorm<T> op{c.rows,
                          c.columns,
                          c.base ? in.base.data() : nullptr,
                          c.branch ? in.branch.data() : nullptr,
                          c.bias ? in.bias.data() : nullptr,
                          out.sum.data(),
                          out.mean.data(),
                          out.rstd.data(),
                          in.gamma.data(),
                          in.beta.data(),
                          out.normed.data()};
  if (c.before) op.gamma_before = in.gamma_before.data(), op.beta_before = in.beta_before.data();
  if (c.gathered) op.source_rows = in.sources.data();
  FusedDropout dropout;
  if (c.dropped) dropout = {key, positions.data(), (c.rows + 3) / 4, 0};
  residual_layer_norm_reference(op, dropout);
  return out;
}

template <class T>
Results<T> device_of(const Case& c, const Operands<T>& in) {
  const Results<T> empty = empty_results(c, in);
  const OnDevice<T> base(in.base, c.shift), branch(in.branch, c.shift), bias(in.bias, c.shift),
      gamma(in.gamma, c.shift), beta(in.beta, c.shift), sum(empty.sum, c.shift),
      normed(empty.normed, c.shift), gamma_before(in.gamma_before, c.shift),
      beta_before(in.beta_before, c.shift);
  const OnDevice<float> mean(empty.mean), rstd(empty.rstd);
  const OnDevice<std::int64_t> sources(in.sources), device_positions(positions);
  ResidualLayerNorm<T> op{c.rows,
                          c.columns,
                          c.base ? base.data() : nullptr,
                          c.branch ? branch.data() : nullptr,
                          c.bias ? bias.data() : nullptr,
                          sum.data(),
                          mean.data(),
                          rstd.data(),
                          gamma.data(),
                          beta.data(),
                          normed.data()};
  if (c.before) op.gamma_before = gamma_before.data(), op.beta_before = beta_before.data();
  if (c.gathered) op.source_rows = sources.data();
  FusedDropout dropout;
  if (c.dropped) dropout = {key, device_positions.data(), (c.rows + 3) / 4, 0};
  require_success(residual_layer_norm(op, dropout, nullptr), "residual_layer_norm");
  return {sum.host(), normed.host(), mean.host(), rstd.host()};
}

template <class T>
void compare(const Case& c) {
  INFO("rows " << c.rows << " columns " << c.columns << " shift " << c.shift << " base " << c.base
               << " branch " << c.branch << " bias " << c.bias << " dropped " << c.dropped
               << " before " << c.before << " gathered " << c.gathered << " bytes " << sizeof(T));
  const Operands<T> in(c);
  const Results<T> want = reference_of(c, in), got = device_of(c, in);
  if (c.before)
    check_close(got.sum, want.sum, rounding<T>, 1e-5, "sum");
  else
    CHECK(same_bits(got.sum, want.sum));
  // A sum that is rounded the other way moves what follows it.
  const double followed = c.before && sizeof(T) == 2 ? 4e-2 : 1e-5;
  if (c.columns == 0) return;  // nothing has no mean
  check_close(got.mean, want.mean, 1e-5, followed, "mean");
  check_close(got.rstd, want.rstd, 1e-4, followed, "rstd");
  if (c.columns > 1) check_close(got.normed, want.normed, rounding<T>, 2 * followed, "normed");
}

template <class T>
void check_sizes() {
  const std::int64_t columns = GENERATE(0, 1, 3, 8, 64, 255, 264, 512, 768, 769, 1000, 1024, 1280,
                                        1600, 2048, 3072, 4097, 8192, 16392);
  for (const std::int64_t rows : {0, 1, 2, 67})
    for (const std::size_t shift : {0u, 1u}) compare<T>({rows, columns, shift});
}

template <class T>
void check_options() {
  const std::int64_t columns = GENERATE(768, 1600, 771);
  for (const bool bias : {false, true})
    for (const bool dropped : {false, true})
      for (const bool before : {false, true})
        for (const bool gathered : {false, true})
          compare<T>({37, columns, 0, true, true, bias, dropped, before, gathered});
  compare<T>({37, columns, 0, true, false, false});
  compare<T>({37, columns, 0, false, false, false});
  compare<T>({37, columns, 0, true, false, false, false, true, true});
}

}  // namespace

TEMPLATE_TEST_CASE("residual + LayerNorm equals its reference for all sizes and alignments",
                   "[gpu]", float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_sizes<TestType>();
}

TEMPLATE_TEST_CASE("residual + LayerNorm equals its reference with and without each operand",
                   "[gpu]", float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_options<TestType>();
}

TEST_CASE("residual + LayerNorm of many rows, in place", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{20'011, 768};
  const Operands<Bf16> in(c);
  const auto want = reference_of(c, in);
  const OnDevice<Bf16> base(in.base), branch(in.branch), bias(in.bias), gamma(in.gamma),
      beta(in.beta), normed(in.base);
  ResidualLayerNorm<Bf16> op{c.rows,       c.columns,   base.data(),  branch.data(),
                             bias.data(),  base.data(), nullptr,      nullptr,
                             gamma.data(), beta.data(), normed.data()};
  require_success(residual_layer_norm(op, {}, nullptr), "residual_layer_norm");
  CHECK(same_bits(base.host(), want.sum));
  check_close(normed.host(), want.normed, rounding<Bf16>, 1e-5, "normed");

  ResidualLayerNorm<Bf16> norm_alone;
  norm_alone.rows = c.rows, norm_alone.columns = c.columns;
  norm_alone.residual_out = norm_alone.normed = base.data();
  norm_alone.gamma = gamma.data(), norm_alone.beta = beta.data();
  require_success(residual_layer_norm(norm_alone, {}, nullptr), "residual_layer_norm");
  CHECK(same_bits(base.host(), normed.host()));
}

TEST_CASE("NaN makes its row NaN and no other; repeats of residual + LayerNorm give the same bits",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t columns : {768, 1600, 8192}) {
    const Case c{30, columns, 0, true, true, true, true};
    Operands<float> in(c);
    const auto first = device_of(c, in);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const auto again = device_of(c, in);
      CHECK((same_bits(again.sum, first.sum) && same_bits(again.normed, first.normed) &&
             same_bits(again.mean, first.mean) && same_bits(again.rstd, first.rstd)));
    }
    in.branch[11 * columns + columns / 2] = std::numeric_limits<float>::quiet_NaN();
    const auto got = device_of(c, in);
    for (std::int64_t r = 0; r < c.rows; ++r)
      for (std::int64_t i = r * columns; i < (r + 1) * columns; ++i)
        if (std::isnan(got.normed[i]) != (r == 11)) FAIL("row " << r);
    CHECK((std::isnan(got.mean[11]) && std::isnan(got.rstd[11])));
  }
}

}  // namespace residual_layer_norm_test
