#include "kernels/reduce/column_sum.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

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

TEMPLATE_TEST_CASE("column sums equal their reference for all sizes and alignments", "[gpu]", float,
                   Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_sizes<TestType>();
}

TEST_CASE("column sums of wide and of tall matrices equal their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check<Bf16>(17, 100'000, 0);
  check<float>(60'007, 64, 0);
}

TEST_CASE("column sums of two matrices are those of each", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t first_rows : {0, 1, 16, 1024})
    for (const std::int64_t columns : {8, 64, 768})
      for (const bool accumulate : {false, true}) {
        const std::int64_t rows[2] = {first_rows, 2 * first_rows + 3}, wide = 2 * columns;
        INFO("rows " << rows[0] << " and " << rows[1] << " columns " << columns << " accumulate "
                     << accumulate);
        const auto a = random_elements<float>(std::max<std::int64_t>(1, rows[0]) * columns, 1),
                   b = random_elements<float>(rows[1] * wide, 2),
                   before = random_elements<float>(columns + wide, 3);
        auto want = before;
        const OnDevice<float> first(a), second(b), sums(before);
        ColumnSumOfTwo op{
            {rows[0], rows[1]}, {columns, wide}, {a.data(), b.data()}, want.data(), accumulate};
        column_sum_reference(op);
        op.x[0] = first.data(), op.x[1] = second.data(), op.sums = sums.data();
        const Folding folding(column_sum_partial_bytes(columns + wide));
        require_success(column_sum(op, folding.memory(), nullptr), "column_sum of two");
        folding.check();
        check_close(sums.host(), want, 1e-5, 1e-5 * (1 + std::sqrt(static_cast<double>(rows[1]))),
                    "sum");
      }
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
