#include "kernels/rows/copy_rows.hpp"
#include "gpu/operands.hpp"
#include "kernels/cast/cast.hpp"
#include <algorithm>
#include <numeric>

namespace copy_rows_test {

using namespace trainx::kernels;

namespace {

template <class T>
void check_rows() {
  const std::int64_t columns = GENERATE(0, 1, 7, 8, 768, 771, 3000);
  for (const std::int64_t count : {0, 1, 50})
    for (const std::size_t shift : {0u, 1u}) {
      INFO("columns " << columns << " count " << count << " shift " << shift);
      const std::int64_t all = 97;
      std::vector<std::int64_t> rows(all);
      std::iota(rows.begin(), rows.end(), 0);
      std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
      rows.resize(static_cast<std::size_t>(count));
      if (count > 3) rows[3] = -1;
      const OnDevice<std::int64_t> d_rows(rows);
      const auto many = random_elements<T>(all * columns, 2),
                 few = random_elements<T>(count * columns, 3);
      {
        auto want = few;
        gather_rows_reference(CopyRows<T>{count, columns, rows.data(), many.data(), want.data()});
        const OnDevice<T> from(many, shift), to(few, shift);
        require_success(
            gather_rows(CopyRows<T>{count, columns, d_rows.data(), from.data(), to.data()},
                        nullptr),
            "gather_rows");
        CHECK(same_bits(to.host(), want));
      }
      auto want = many;
      scatter_rows_reference(CopyRows<T>{count, columns, rows.data(), few.data(), want.data()});
      const OnDevice<T> from(few, shift), to(many, shift);
      require_success(
          scatter_rows(CopyRows<T>{count, columns, d_rows.data(), from.data(), to.data()}, nullptr),
          "scatter_rows");
      CHECK(same_bits(to.host(), want));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("rows are gathered and scattered as by the reference", "[gpu]", float, Bf16,
                   Fp16) {
  TRAINX_NEEDS_GPU();
  check_rows<TestType>();
}

TEST_CASE("targets are selected in order, within the capacity", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t count : {0, 1, 1000, 1024, 1025, 16'384, 100'003})
    for (const std::int64_t capacity : {std::int64_t{0}, std::int64_t{7}, count / 4, count + 5}) {
      INFO("count " << count << " capacity " << capacity);
      auto targets = random_integers(count, 1000, 1);
      for (auto& t : targets)
        if (t > 150) t = -100;
      std::vector<std::int64_t> rows(static_cast<std::size_t>(capacity)), found(1);
      std::vector<std::int32_t> row_targets(rows.size());
      select_targets_reference(
          {count, capacity, targets.data(), rows.data(), row_targets.data(), found.data()});
      const OnDevice<std::int32_t> d_targets(targets),
          d_row_targets{std::vector<std::int32_t>(rows.size())};
      const OnDevice<std::int64_t> d_rows{std::vector<std::int64_t>(rows.size())},
          d_found{std::vector<std::int64_t>(1)};
      require_success(select_targets({count, capacity, d_targets.data(), d_rows.data(),
                                      d_row_targets.data(), d_found.data()},
                                     nullptr),
                      "select_targets");
      CHECK((d_rows.host() == rows && d_row_targets.host() == row_targets &&
             d_found.host() == found));
    }
}

TEST_CASE("the first rows of samples are named", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t samples : {0, 1, 256, 257, 5000}) {
    std::vector<std::int64_t> want(static_cast<std::size_t>(samples));
    first_rows_reference(want.data(), samples, 512);
    const OnDevice<std::int64_t> rows{std::vector<std::int64_t>(want.size())};
    require_success(first_rows(rows.data(), samples, 512, nullptr), "first_rows");
    CHECK(rows.host() == want);
  }
}

namespace {

/// Noise over all exponents of fp16, and what is special: infinity, -0, ties, what is beyond either
/// type, what is subnormal in fp16.
template <class T>
std::vector<T> to_be_cast(std::int64_t n) {
  auto exact = random_elements<float>(n, 1, 100);
  const float special[] = {std::numeric_limits<float>::infinity(),
                           -0.0f,
                           float_of(0x3f808000),
                           float_of(0x3f818000),
                           3.4e38f,
                           float_of(0x3f801000),
                           float_of(0x3f803000),
                           65519.0f,
                           -65520.0f,
                           1e-7f,
                           3e-8f,
                           -6.1e-5f};
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (i % 5 == 0) exact[i] *= 1e-6f;
    if (i % 7 == 0) exact[i] *= 1e4f;
    if (i < std::size(special) && exact.size() > 8) exact[i] = special[i];
  }
  std::vector<T> out(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) narrow(exact[i], out[i]);
  return out;
}

template <class To, class From>
void check_cast() {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 2048, 1'000'003})
    for (const std::size_t shift : {0u, 1u}) {
      INFO("n " << n << " shift " << shift);
      const auto in = to_be_cast<From>(n);
      std::vector<To> want(in.size());
      cast_reference(want.data(), in.data(), n);
      const OnDevice<From> d_in(in, shift);
      const OnDevice<To> d_out(std::vector<To>(in.size()), shift);
      require_success(cast(d_out.data(), d_in.data(), n, nullptr), "cast");
      CHECK(same_bits(d_out.host(), want));
    }
}

template <class To, class From>
void check_nan() {
  From nan;
  narrow(std::numeric_limits<float>::quiet_NaN(), nan);
  const OnDevice<From> in(std::vector<From>(9, nan));
  const OnDevice<To> out(std::vector<To>(9));
  require_success(cast(out.data(), in.data(), 9, nullptr), "cast");
  for (const To x : out.host()) CHECK(std::isnan(widened(x)));
}

}  // namespace

TEST_CASE("casts round as the reference does", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_cast<Bf16, float>();
  check_cast<Fp16, float>();
  check_cast<Fp16, Bf16>();
  check_cast<Bf16, Fp16>();
  check_cast<float, Bf16>();
  check_cast<float, Fp16>();
}

TEST_CASE("a cast keeps NaN", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_nan<Bf16, float>();
  check_nan<Fp16, float>();
  check_nan<Fp16, Bf16>();
  check_nan<Bf16, Fp16>();
}

}  // namespace copy_rows_test
