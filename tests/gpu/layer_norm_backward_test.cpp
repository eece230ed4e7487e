#include "kernels/norm/layer_norm_backward.hpp"
#include "gpu/operands.hpp"

namespace layer_norm_backward_test {

using namespace trainx::kernels;

namespace {

const std::vector<std::int64_t> positions{5, 1ll << 35, 0, 12};
const DropoutKey key{0.1, 0xfedcba9876543210ull, 7, 3};

struct Case {
  std::int64_t rows, columns;
  std::size_t shift = 0;  // elements off alignment
  bool residual = true, bias = true, dropped = false, accumulate = false;
};

template <class T>
struct Operands {
  std::vector<T> d_normed, x, gamma, d_residual;
  std::vector<float> mean, rstd, before;
  explicit Operands(const Case& c)
      // never null, which would say that there was no norm
      : d_normed(random_elements<T>(c.rows * c.columns + 1, 1)),
        x(random_elements<T>(c.rows * c.columns, 2, 2, 0.5f)),
        gamma(random_elements<T>(c.columns, 3, 0.2f, 1)),
        d_residual(random_elements<T>(c.rows * c.columns, 4)),
        before(random_elements<float>(c.columns, 5)) {
    for (std::int64_t r = 0; r < c.rows; ++r) {
      double sum = 0, squares = 0;
      for (std::int64_t i = r * c.columns; i < (r + 1) * c.columns; ++i) sum += widened(x[i]);
      const double average = sum / static_cast<double>(c.columns);
      for (std::int64_t i = r * c.columns; i < (r + 1) * c.columns; ++i)
        squares += (widened(x[i]) - average) * (widened(x[i]) - average);
      mean.push_back(static_cast<float>(average));
      rstd.push_back(
          static_cast<float>(1 / std::sqrt(squares / static_cast<double>(c.columns) + 1e-5)));
    }
  }
};

template <class T>
struct Results {
  std::vector<T> dx, d_branch;
  std::vector<float> d_gamma, d_beta, d_bias;
};

template <class T>
Results<T> reference_of(const Case& c, const Operands<T>& in) {
  Results<T> out{std::vector<T>(in.x.size()), std::vector<T>(in.x.size()), in.before, in.before,
                 in.before};
  FusedDropout dropout;
  if (c.dropped) dropout = {key, positions.data(), (c.rows + 3) / 4, 0};
  layer_norm_backward_reference(
      LayerNormBackward<T>{
          c.rows, c.columns, in.d_normed.data(), in.x.data(), in.mean.data(), in.rstd.data(),
          in.gamma.data(), c.residual ? in.d_residual.data() : nullptr, out.dx.data(),
          c.dropped ? out.d_branch.data() : nullptr, out.d_gamma.data(), out.d_beta.data(),
          c.bias ? out.d_bias.data() : nullptr, c.accumulate, c.accumulate},
      dropout);
  return out;
}

// dx replaces d_residual where there is one, else d_normed, as it does in training.
template <class T>
Results<T> device_of(const Case& c, const Operands<T>& in) {
  const OnDevice<T> d_normed(in.d_normed, c.shift), x(in.x, c.shift), gamma(in.gamma, c.shift),
      d_residual(in.d_residual, c.shift), d_branch(std::vector<T>(in.x.size()), c.shift);
  const OnDevice<float> mean(in.mean), rstd(in.rstd), d_gamma(in.before, c.shift),
      d_beta(in.before), d_bias(in.before, c.shift);
  const OnDevice<std::int64_t> device_positions(positions);
  const Folding folding(layer_norm_backward_partial_bytes(c.columns));
  FusedDropout dropout;
  if (c.dropped) dropout = {key, device_positions.data(), (c.rows + 3) / 4, 0};
  const OnDevice<T>& dx = c.residual ? d_residual : d_normed;
  require_success(layer_norm_backward(
                      LayerNormBackward<T>{
                          c.rows, c.columns, d_normed.data(), x.data(), mean.data(), rstd.data(),
                          gamma.data(), c.residual ? d_residual.data() : nullptr, dx.data(),
                          c.dropped ? d_branch.data() : nullptr, d_gamma.data(), d_beta.data(),
                          c.bias ? d_bias.data() : nullptr, c.accumulate, c.accumulate},
                      dropout, folding.memory(), nullptr),
                  "layer_norm_backward");
  folding.check();
  std::vector<T> of_rows = dx.host();
  of_rows.resize(in.x.size());  // d_normed has one more
  return {std::move(of_rows), d_branch.host(), d_gamma.host(), d_beta.host(), d_bias.host()};
}

template <class T>
void compare(const Case& c) {
  INFO("rows " << c.rows << " columns " << c.columns << " shift " << c.shift << " residual "
               << c.residual << " bias " << c.bias << " dropped " << c.dropped << " accumulate "
               << c.accumulate << " bytes " << sizeof(T));
  const Operands<T> in(c);
  const Results<T> want = reference_of(c, in), got = device_of(c, in);
  const double sums = 1e-5 * (10 + std::sqrt(static_cast<double>(c.rows)));
  // one column has no spread: rounding alone, times 1 / sqrt(epsilon)
  if (c.columns > 1) check_close(got.dx, want.dx, rounding<T>, 2e-5, "dx");
  if (c.columns > 1) check_close(got.d_gamma, want.d_gamma, 1e-5, sums, "d_gamma");
  check_close(got.d_beta, want.d_beta, 1e-5, sums, "d_beta");
  if (c.columns <= 1) return;
  check_close(got.d_branch, want.d_branch, 2 * rounding<T>, 2e-5, "d_branch");
  // some elements of dx are rounded the other way
  check_close(got.d_bias, want.d_bias, 1e-5, sizeof(T) == 2 ? 0.1 : sums, "d_bias");
}

template <class T>
void check_sizes() {
  const std::int64_t columns = GENERATE(0, 1, 3, 8, 64, 255, 264, 512, 768, 769, 1000, 1024, 1280,
                                        1600, 2048, 3072, 4097, 8192, 16392);
  for (const std::int64_t rows : {0, 1, 2, 67, 601})
    for (const std::size_t shift : {0u, 1u}) compare<T>({rows, columns, shift});
}

template <class T>
void check_options() {
  const std::int64_t columns = GENERATE(768, 1600, 771);
  for (const bool residual : {false, true})
    for (const bool bias : {false, true})
      for (const bool dropped : {false, true})
        for (const bool accumulate : {false, true})
          compare<T>({37, columns, 0, residual, bias, dropped, accumulate});
}

}  // namespace

TEMPLATE_TEST_CASE("LayerNorm backward equals its reference for all sizes and alignments", "[gpu]",
                   float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_sizes<TestType>();
}

TEMPLATE_TEST_CASE("LayerNorm backward equals its reference with and without each operand", "[gpu]",
                   float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_options<TestType>();
}

TEST_CASE("LayerNorm backward of many rows", "[gpu]") {
  TRAINX_NEEDS_GPU();
  compare<Bf16>({20'011, 768, 0, true, true, true});
  compare<float>({20'011, 768});
}

TEST_CASE(
    "NaN reaches its row and the column sums; repeats of LayerNorm backward give the same bits",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t columns : {768, 1600, 769}) {
    const Case c{5000, columns};
    Operands<Bf16> in(c);
    const auto first = device_of(c, in);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const auto again = device_of(c, in);
      CHECK((same_bits(again.dx, first.dx) && same_bits(again.d_gamma, first.d_gamma) &&
             same_bits(again.d_beta, first.d_beta) && same_bits(again.d_bias, first.d_bias)));
    }
    narrow(std::numeric_limits<float>::quiet_NaN(), in.d_normed[4000 * columns + 5]);
    const auto got = device_of(c, in);
    for (std::int64_t i = 0; i < c.rows * columns; ++i)
      if (std::isnan(widened(got.dx[i])) != (i / columns == 4000)) FAIL("element " << i);
    CHECK((std::isnan(got.d_gamma[5]) && std::isnan(got.d_beta[5]) && std::isnan(got.d_bias[5]) &&
           std::isnan(got.d_bias[6]) && !std::isnan(got.d_gamma[6])));
  }
}

}  // namespace layer_norm_backward_test
