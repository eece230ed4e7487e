// Norms in every form: RMSNorm, without weight or shift, with an offset of the weight, with a
// scaled branch, sums without a norm. Plain LayerNorms: residual_layer_norm_test,
// layer_norm_backward_test.
#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/norm/residual_layer_norm.hpp"
#include "gpu/operands.hpp"

namespace norm_forms_test {

using namespace trainx::kernels;

namespace {

const std::vector<std::int64_t> positions{5, 1ll << 35, 0, 12};
const DropoutKey key{0.1, 0xfedcba9876543210ull, 7, 3};

struct Case {
  std::int64_t rows, columns;
  NormForm form;
  bool weighted = true, shifted = false, biased = false, dropped = false, norms = true;
  bool adds = true;
  bool frozen = false;  // no gradient of weight, shift and bias is wanted
  std::size_t shift = 0;
};

template <class T>
struct Operands {
  std::vector<T> base, branch, bias, gamma, beta, d_normed, d_residual;
  std::vector<float> before;
  explicit Operands(const Case& c)
      : base(random_elements<T>(c.rows * c.columns, 1, 2, 0.5f)),
        branch(random_elements<T>(c.rows * c.columns, 2)),
        bias(random_elements<T>(c.columns, 3)),
        gamma(random_elements<T>(c.columns, 4, 0.2f, 1)),
        beta(random_elements<T>(c.columns, 5)),
        // not null without rows, which would mean that there was no norm
        d_normed(random_elements<T>(c.rows * c.columns + 1, 6)),
        d_residual(random_elements<T>(c.rows * c.columns, 7)),
        before(random_elements<float>(c.columns, 8)) {}
};

template <class T>
struct Results {
  std::vector<T> sum, normed, dx, d_branch;
  std::vector<float> mean, rstd, d_gamma, d_beta, d_bias;
};

template <class T>
Results<T> empty_results(const Case& c, const Operands<T>& in) {
  Results<T> out;
  out.sum = c.adds ? std::vector<T>(in.base.size()) : in.base;
  out.normed.resize(in.base.size()), out.dx.resize(in.base.size());
  out.d_branch.resize(in.base.size());
  out.mean.resize(static_cast<std::size_t>(c.rows)), out.rstd = out.mean;
  out.d_gamma = out.d_beta = out.d_bias = in.before;
  return out;
}

bool changes_branch(const Case& c) { return c.dropped || c.form.branch_scale != 1; }

template <class T>
Results<T> reference_of(const Case& c, Operands<T> in) {
  Results<T> out = empty_results(c, in);
  FusedDropout dropout;
  if (c.dropped) dropout = {key, positions.data(), (c.rows + 3) / 4, 0};
  ResidualLayerNorm<T> op;
  op.rows = c.rows, op.columns = c.columns;
  if (c.adds) op.residual_in = in.base.data(), op.branch = in.branch.data();
  if (c.adds && c.biased) op.bias = in.bias.data();
  op.residual_out = out.sum.data();
  if (c.weighted) op.gamma = in.gamma.data();
  if (c.shifted) op.beta = in.beta.data();
  if (c.norms) op.normed = out.normed.data(), op.mean = out.mean.data(), op.rstd = out.rstd.data();
  residual_norm_reference(op, c.form, c.adds ? dropout : FusedDropout{});
  LayerNormBackward<T> back;
  back.rows = c.rows, back.columns = c.columns;
  if (c.norms)
    back.d_normed = in.d_normed.data(), back.x = out.sum.data(), back.rstd = out.rstd.data();
  if (c.norms && !c.form.rms) back.mean = out.mean.data();
  if (c.weighted) back.gamma = in.gamma.data(), back.d_gamma = out.d_gamma.data();
  if (c.shifted) back.d_beta = out.d_beta.data();
  back.d_residual = in.d_residual.data(), back.dx = out.dx.data();
  if (changes_branch(c)) back.d_branch = out.d_branch.data();
  if (c.biased) back.d_bias = out.d_bias.data();
  if (c.frozen) back.d_gamma = back.d_beta = back.d_bias = nullptr;
  back.accumulate_norm = back.accumulate_bias = c.rows % 2 == 1;
  norm_backward_reference(back, c.form, dropout);
  return out;
}

template <class T>
Results<T> device_of(const Case& c, const Operands<T>& in) {
  const Results<T> empty = empty_results(c, in);
  const OnDevice<T> base(in.base, c.shift), branch(in.branch, c.shift), bias(in.bias, c.shift),
      gamma(in.gamma, c.shift), beta(in.beta, c.shift), d_normed(in.d_normed, c.shift),
      d_residual(in.d_residual, c.shift), sum(empty.sum, c.shift), normed(empty.normed, c.shift),
      d_branch(empty.d_branch, c.shift);
  const OnDevice<float> mean(empty.mean), rstd(empty.rstd), d_gamma(in.before), d_beta(in.before),
      d_bias(in.before);
  const OnDevice<std::int64_t> device_positions(positions);
  FusedDropout dropout;
  if (c.dropped) dropout = {key, device_positions.data(), (c.rows + 3) / 4, 0};
  ResidualLayerNorm<T> op;
  op.rows = c.rows, op.columns = c.columns;
  if (c.adds) op.residual_in = base.data(), op.branch = branch.data();
  if (c.adds && c.biased) op.bias = bias.data();
  op.residual_out = sum.data();
  if (c.weighted) op.gamma = gamma.data();
  if (c.shifted) op.beta = beta.data();
  if (c.norms) op.normed = normed.data(), op.mean = mean.data(), op.rstd = rstd.data();
  require_success(residual_norm(op, c.form, c.adds ? dropout : FusedDropout{}, nullptr),
                  "residual_norm");
  LayerNormBackward<T> back;
  back.rows = c.rows, back.columns = c.columns;
  if (c.norms) back.d_normed = d_normed.data(), back.x = sum.data(), back.rstd = rstd.data();
  if (c.norms && !c.form.rms) back.mean = mean.data();
  if (c.weighted) back.gamma = gamma.data(), back.d_gamma = d_gamma.data();
  if (c.shifted) back.d_beta = d_beta.data();
  // over the gradient that comes in
  back.d_residual = back.dx = d_residual.data();
  if (changes_branch(c)) back.d_branch = d_branch.data();
  if (c.biased) back.d_bias = d_bias.data();
  if (c.frozen) back.d_gamma = back.d_beta = back.d_bias = nullptr;
  back.accumulate_norm = back.accumulate_bias = c.rows % 2 == 1;
  const Folding folding(layer_norm_backward_partial_bytes(c.columns));
  require_success(norm_backward(back, c.form, dropout, folding.memory(), nullptr), "norm_backward");
  folding.check();
  return {sum.host(),  normed.host(),  d_residual.host(), d_branch.host(), mean.host(),
          rstd.host(), d_gamma.host(), d_beta.host(),     d_bias.host()};
}

template <class T>
void compare(const Case& c) {
  INFO("rows " << c.rows << " columns " << c.columns << " rms " << c.form.rms << " offset "
               << c.form.weight_offset << " scale " << c.form.branch_scale << " weighted "
               << c.weighted << " shifted " << c.shifted << " biased " << c.biased << " dropped "
               << c.dropped << " norms " << c.norms << " adds " << c.adds << " frozen " << c.frozen
               << " shift " << c.shift << " bytes " << sizeof(T));
  const Operands<T> in(c);
  const Results<T> want = reference_of(c, in), got = device_of(c, in);
  CHECK(same_bits(got.sum, want.sum));
  check_close(got.mean, want.mean, 1e-5, 1e-5, "mean");
  check_close(got.rstd, want.rstd, 1e-4, 1e-5, "rstd");
  // of one element LayerNorm leaves nothing but rounding, times a large rstd
  if (c.columns == 1 && !c.form.rms) return;
  check_close(got.normed, want.normed, rounding<T>, 2e-5, "normed");
  check_close(got.dx, want.dx, rounding<T>, 5e-5, "dx");
  // what is rounded the other way differs by as much, times a factor
  check_close(got.d_branch, want.d_branch, 2 * rounding<T>, 1e-4, "d_branch");
  const double sums = 2e-5 * (4 + std::sqrt(static_cast<double>(c.rows)));
  check_close(got.d_gamma, want.d_gamma, 1e-4, sums, "d_gamma");
  check_close(got.d_beta, want.d_beta, 1e-4, sums, "d_beta");
  check_close(got.d_bias, want.d_bias, 1e-2, sizeof(T) == 2 ? 0.2 : 1e-3, "d_bias");
}

template <class T>
void check_widths() {
  for (const std::int64_t columns :
       {1, 7, 8, 64, 512, 640, 771, 1024, 1536, 2048, 4096, 5120, 8192, 8200})
    for (const std::int64_t rows : {1, 30})
      for (const std::size_t shift : {0u, 1u})
        for (const bool rms : {true, false})
          for (const bool frozen : {true, false}) {
            Case c{rows, columns, {rms, 0, 1}};
            c.shift = shift, c.frozen = frozen;
            compare<T>(c);
          }
}

template <class T>
void check_forms() {
  for (const std::int64_t columns : {48, 100, 1152})
    for (int k = 0; k < 256; ++k) {
      Case c{k % 5 * 3 + 2, columns, {(k & 1) != 0, k & 2 ? 1.0 : 0.0, k & 4 ? 0.22 : 1.0}};
      c.weighted = k & 8, c.shifted = k & 16, c.biased = k & 32, c.dropped = k & 64;
      c.norms = (k & 128) == 0;
      if (!c.norms) c.weighted = c.shifted = false;
      compare<T>(c);
      c.frozen = true;
      compare<T>(c);
    }
  Case there{20, 96, {true, 1, 1}};  // a norm of what is there
  there.adds = false;
  compare<T>(there);
  there.rows = 0;
  compare<T>(there);
}

}  // namespace

TEST_CASE("RMSNorms and LayerNorms without a shift equal their reference for all widths", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_widths<float>();
  check_widths<Bf16>();
  check_widths<Fp16>();
}

TEST_CASE("norms equal their reference with and without each of their parts", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_forms<float>();
  check_forms<Bf16>();
}

TEST_CASE("frozen norms of many rows repeat to the bit, and NaN makes its row NaN", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t columns : {1024, 4096}) {
    Case c{5'003, columns, {true, 0, 1}};
    c.frozen = true;
    Operands<Bf16> in(c);
    const auto want = reference_of(c, in), first = device_of(c, in);
    check_close(first.dx, want.dx, rounding<Bf16>, 5e-5, "dx");
    CHECK(first.d_gamma == in.before);
    for (int repeat = 0; repeat < 5; ++repeat) CHECK(same_bits(device_of(c, in).dx, first.dx));
    narrow(std::numeric_limits<float>::quiet_NaN(),
           in.d_normed[static_cast<std::size_t>(11 * columns + 77)]);
    const auto got = device_of(c, in);
    for (std::int64_t r = 0; r < c.rows; ++r)
      if (std::isnan(widened(got.dx[static_cast<std::size_t>(r * columns + 5)])) != (r == 11))
        FAIL("row " << r);
  }
}

TEST_CASE("RMSNorm of many rows; repeats give the same bits, NaN makes its row NaN", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{5'003, 2048, {true, 0, 1}};
  Operands<Bf16> in(c);
  const auto want = reference_of(c, in), first = device_of(c, in);
  check_close(first.dx, want.dx, rounding<Bf16>, 5e-5, "dx");
  check_close(first.d_gamma, want.d_gamma, 1e-3, 2e-2, "d_gamma");
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto again = device_of(c, in);
    CHECK((same_bits(again.normed, first.normed) && same_bits(again.dx, first.dx) &&
           same_bits(again.d_gamma, first.d_gamma)));
  }
  narrow(std::numeric_limits<float>::quiet_NaN(), in.branch[11 * 2048 + 77]);
  const auto got = device_of(c, in);
  for (std::int64_t r = 0; r < c.rows; ++r)
    if (std::isnan(widened(got.normed[static_cast<std::size_t>(r * 2048 + 5)])) != (r == 11))
      FAIL("row " << r);
}

}  // namespace norm_forms_test
