#include "kernels/random/dropout.hpp"
#include "gpu/device.hpp"
#include <limits>
#include <random>

namespace dropout_test {

using namespace trainx::kernels;

namespace {

std::vector<float> values_of(std::size_t n, float) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> x(n);
  for (float& f : x) f = normal(random);
  return x;
}
template <class T>
std::vector<T> values_of(std::size_t n, T) {
  std::vector<T> x(n);
  const auto exact = values_of(n, 0.0f);
  for (std::size_t i = 0; i < n; ++i) narrow(exact[i], x[i]);
  return x;
}

const DropoutKey key{0.3, 0xfedcba9876543210ull, 7, 3};
const std::vector<std::int64_t> positions{5, 1ll << 35, 0, 12};

template <class T>
std::vector<T> device_of(const std::vector<T>& in, DropoutRows rows, std::size_t shift) {
  const OnDevice<T> device_in(in, shift), device_out(in, shift);
  const OnDevice<std::int64_t> device_positions(positions);
  rows.positions = device_positions.data();
  require_success(dropout(device_out.data(), device_in.data(), rows, key, nullptr), "dropout");
  return device_out.host();
}

template <class T>
void check_sizes() {
  const std::int64_t columns = GENERATE(0, 1, 3, 4, 5, 64, 255, 768);
  const std::int64_t length = GENERATE(1, 3, 8);
  const std::size_t shift = GENERATE(0u, 1u, 2u);
  for (std::int64_t first_row = 0; first_row < 2 * length; first_row += 1 + length / 3)
    for (const std::int64_t count :
         {std::int64_t{0}, std::int64_t{1}, length, 2 * length, 4 * length - first_row}) {
      if (first_row + count > 4 * length) continue;
      const DropoutRows rows{positions.data(), length, columns, first_row, count};
      const auto in = values_of(static_cast<std::size_t>(count * columns), T{});
      std::vector<T> want(in.size());
      dropout_reference(want.data(), in.data(), rows, key);
      INFO("columns " << columns << " length " << length << " rows " << first_row << " + " << count
                      << " shift " << shift);
      CHECK(same_bits(device_of(in, rows, shift), want));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("the dropout kernel gives the bits of its reference", "[gpu]", float, Bf16,
                   Fp16) {
  TRAINX_NEEDS_GPU();
  check_sizes<TestType>();
}

TEMPLATE_TEST_CASE("columns of wider rows have the factors of these rows", "[gpu]", float, Bf16,
                   Fp16) {
  TRAINX_NEEDS_GPU();
  using T = TestType;
  const std::int64_t all = GENERATE(6, 8, 64, 255), count = GENERATE(1, 5, 12);
  const std::size_t shift = GENERATE(0u, 1u);
  const DropoutRows whole{positions.data(), 3, all, 0, count};
  std::vector<T> dropped(static_cast<std::size_t>(count * all)),
      in = values_of(dropped.size(), T{});
  dropout_reference(dropped.data(), in.data(), whole, key);
  for (const std::int64_t columns : {std::int64_t{1}, std::int64_t{4}, all / 2, all})
    for (std::int64_t first = 0; first + columns <= all; first += columns) {
      const auto part_of = [&](const std::vector<T>& rows) {
        std::vector<T> part;
        for (std::int64_t r = 0; r < count; ++r)
          for (std::int64_t c = 0; c < columns; ++c)
            part.push_back(rows[static_cast<std::size_t>(r * all + first + c)]);
        return part;
      };
      const DropoutRows rows{positions.data(), 3, columns, 0, count, first, all};
      INFO("columns " << first << " + " << columns << " of " << all << ", rows " << count);
      std::vector<T> want(part_of(in).size());
      dropout_reference(want.data(), part_of(in).data(), rows, key);
      CHECK(same_bits(want, part_of(dropped)));
      CHECK(same_bits(device_of(part_of(in), rows, shift), want));
    }
}

TEST_CASE(
    "dropout of a large operand, in place and in two launches, is the same; the share that is "
    "dropped is right",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t length = 1000, columns = 769;
  const auto n = static_cast<std::size_t>(4 * length * columns);
  const std::vector<float> in(n, 1.0f);
  std::vector<float> want(n);
  dropout_reference(want.data(), in.data(), {positions.data(), length, columns, 0, 4 * length},
                    key);
  const OnDevice<float> memory(in);
  const OnDevice<std::int64_t> device_positions(positions);
  const std::int64_t cut = 1501;
  require_success(dropout(memory.data(), memory.data(),
                          {device_positions.data(), length, columns, 0, cut}, key, nullptr),
                  "dropout");
  require_success(
      dropout(memory.data() + cut * columns, memory.data() + cut * columns,
              {device_positions.data(), length, columns, cut, 4 * length - cut}, key, nullptr),
      "dropout");
  const auto got = memory.host();
  CHECK(same_bits(got, want));
  double dropped = 0;
  for (const float x : got) dropped += x == 0;
  CHECK(std::abs(dropped / static_cast<double>(n) - 0.3) < 2e-3);  // about 8 standard deviations
}

TEST_CASE("a NaN that is dropped or kept stays NaN; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const DropoutRows rows{positions.data(), 4, 64, 0, 16};
  std::vector<float> in(1024, std::numeric_limits<float>::quiet_NaN());
  for (const float x : device_of(in, rows, 0))
    if (!std::isnan(x)) FAIL("a NaN became " << x);
  in = values_of(1024, 0.0f);
  const auto first = device_of(in, rows, 0);
  for (int repeat = 0; repeat < 10; ++repeat) CHECK(same_bits(device_of(in, rows, 0), first));
}

}  // namespace dropout_test
