#include "comm/sums.hpp"
#include "core/half.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include "unit/comm/collectives.hpp"
#include <cmath>

namespace sums_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

std::uint16_t sum_of_two(std::uint16_t a, std::uint16_t b, DType dtype) {
  const std::byte* parts[] = {reinterpret_cast<const std::byte*>(&a),
                              reinterpret_cast<const std::byte*>(&b)};
  std::uint16_t sum = 0;
  sum_parts(reinterpret_cast<std::byte*>(&sum), parts, 1, dtype);
  return sum;
}

}  // namespace

TEST_CASE("sums are those of plain loops, at block borders, also where a part is overwritten") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::i64, DType::bf16, DType::f16);
  const std::int64_t n = GENERATE(0, 1, 511, 512, 513, 1537);
  const int ranks = GENERATE(1, 2, 5);
  std::vector<collectives::Bytes> data;
  for (int r = 0; r < ranks; ++r) data.push_back(collectives::data_of(r, n, dtype, 3));
  const auto want = collectives::sum_of(data, dtype);
  std::vector<const std::byte*> parts;
  for (const auto& d : data) parts.push_back(d.data());
  collectives::Bytes sum(want.size());
  sum_parts(sum.data(), parts, n, dtype);
  CHECK((sum == want));
  sum_parts(data.back().data(), parts, n, dtype);
  CHECK((data.back() == want));
}

TEST_CASE(
    "16-bit sums widen and round as core does: every value, and every tie, edge and special one "
    "between two of them") {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto widen = dtype == DType::bf16 ? widen_bf16 : widen_f16;
    const auto round = dtype == DType::bf16 ? round_to_bf16 : round_to_f16;
    int wrong = 0;
    std::mt19937 random(11);
    for (std::uint32_t a = 0; a < 65536; ++a)
      for (int i = 0; i < 20; ++i) {
        // -0 changes nothing
        const auto x = static_cast<std::uint16_t>(a),
                   y = static_cast<std::uint16_t>(i == 0  ? 0x8000
                                                  : i < 4 ? a ^ (0x0400u << i)
                                                          : random());
        const float sum = widen(x) + widen(y);
        const std::uint16_t got = sum_of_two(x, y, dtype), want = round(sum);
        if (std::isnan(sum) ? !std::isnan(widen(got)) : got != want) ++wrong;
      }
    INFO(name_of(dtype));
    CHECK(wrong == 0);
  }
}

TEST_CASE("other types have no sums") {
  std::int32_t x = 1;
  const std::byte* parts[] = {reinterpret_cast<const std::byte*>(&x)};
  CHECK_THROWS_AS(sum_parts(reinterpret_cast<std::byte*>(&x), parts, 1, DType::i32), InternalError);
}

}  // namespace sums_test
