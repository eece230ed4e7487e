#include "kernels/reduce/column_sum.hpp"
#include "gpu/operands.hpp"

namespace column_sum_test {

using namespace trainx::kernels;

namespace {

template <class T>
std::vector<float> device_of(const std::vector<T>& x, std::int64_t rows, std::int64_t columns,
                             bool accumulate, const std::vector<float>& before, std::size_t shift) {
  const OnDevice<T> in(x, shift);
  const OnDevice<float> sums(before, shift);
  const Folding folding(column_sum_partial_bytes(columns));
  require_success(column_sum(ColumnSum<T>{rows, columns, in.data(), sums.data(), accumulate},
                             folding.memory(), nullptr),
                  "column_sum");
  folding.check();
  return sums.host();
}

template <class T>
void check(std::int64_t rows, std::int64_t columns, std::size_t shift) {
  const auto x = random_elements<T>(rows * columns, 1, 1, 0.25f);
  const auto before = random_elements<float>(columns, 2);
  for (const bool accumulate : {false, true}) {
    INFO("rows " << rows << " columns " << columns << " shift " << shift << " accumulate "
                 << accumulate);
    auto want = before;
    column_sum_reference(ColumnSum<T>{rows, columns, x.data(), want.data(), accumulate});
    check_close(device_of(x, rows, columns, accumulate, before, shift), want, 1e-5,
                1e-5 * (1 + std::sqrt(static_cast<double>(rows))), "sum");
  }
}

template <class T>
void check_sizes() {
  const std::int64_t columns = GENERATE(0, 1, 7, 8, 64, 65, 768, 2304, 50304);
  for (const std::int64_t rows : {0, 1, 31, 1000})
    for (const std::size_t shift : {0u, 1u}) check<T>(rows, columns, shift);
}

}  // namespace

TEST_CASE("column sums equal their reference for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_sizes<float>();
  check_sizes<Bf16>();
  check_sizes<Fp16>();
  check<Bf16>(17, 100'000, 0);  // wide tiles
  check<float>(60'007, 64, 0);
}

TEST_CASE("NaN shows in its column sum; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 30'000, columns = 768;
  auto x = random_elements<Bf16>(rows * columns, 1);
  const std::vector<float> before(columns);
  const auto first = device_of(x, rows, columns, false, before, 0);
  for (int repeat = 0; repeat < 10; ++repeat)
    CHECK(same_bits(device_of(x, rows, columns, false, before, 0), first));
  narrow(std::numeric_limits<float>::quiet_NaN(), x[29'999 * columns + 700]);
  const auto got = device_of(x, rows, columns, false, before, 0);
  for (std::int64_t c = 0; c < columns; ++c)
    if (std::isnan(got[c]) != (c == 700)) FAIL("column " << c);
}

}  // namespace column_sum_test
