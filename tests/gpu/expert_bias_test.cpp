#include "kernels/experts/expert_bias.hpp"
#include "gpu/operands.hpp"
#include <algorithm>
#include <numeric>

namespace expert_bias_test {

using namespace trainx::kernels;

namespace {

using Offsets = std::vector<std::int32_t>;

template <class T>
void compare(const Offsets& offsets, std::int64_t out, std::size_t shift) {
  const std::int64_t experts = std::ssize(offsets) - 1, rows = offsets.back();
  INFO("experts " << experts << " rows " << rows << " out " << out << " shift " << shift
                  << " bytes " << sizeof(T));
  const auto y = random_elements<T>(rows * out, 1), dy = random_elements<T>(rows * out, 2),
             bias = random_elements<T>(experts * out, 3);
  const auto before = random_elements<float>(experts * out, 4);
  const GroupedSizes host{rows, 0, out, experts, offsets.data()};
  std::vector<T> want = y;
  expert_bias_reference(ExpertBias<T>{host, bias.data(), want.data()});
  const OnDevice<std::int32_t> on_offsets(offsets);
  const GroupedSizes sizes{rows, 0, out, experts, on_offsets.data()};
  const OnDevice<T> to(y, shift), added(bias, shift), d(dy, shift);
  require_success(expert_bias(ExpertBias<T>{sizes, added.data(), to.data()}, nullptr), "bias");
  CHECK(same_bits(to.host(), want));
  for (const bool accumulate : {false, true}) {
    std::vector<float> want_d = before;
    expert_bias_gradient_reference(
        ExpertBiasGradient<T>{host, dy.data(), want_d.data(), accumulate});
    const auto device = [&] {
      const OnDevice<float> d_bias(before);
      require_success(
          expert_bias_gradient(ExpertBiasGradient<T>{sizes, d.data(), d_bias.data(), accumulate},
                               nullptr),
          "gradient of the bias");
      return d_bias.host();
    };
    const auto got = device();
    check_close(got, want_d, 1e-4, 1e-3, "d_bias");
    CHECK(same_bits(device(), got));
  }
}

template <class T>
void check_all() {
  const std::vector<Offsets> all{{0, 0},         {0, 1},          {0, 33, 33, 100},
                                 {0, 0, 0, 257}, {0, 64, 96, 97}, Offsets(40, 0)};
  Offsets many(130);
  std::iota(many.begin(), many.end(), 0);  // a row each
  for (const std::int64_t out : {1, 7, 8, 64, 72, 2'880})
    for (const std::size_t shift : {0u, 1u}) {
      for (const Offsets& offsets : all) compare<T>(offsets, out, shift);
      compare<T>(many, out, shift);
    }
}

}  // namespace

TEST_CASE("biases of experts equal their references for all spreads and sizes", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_all<float>();
  check_all<Bf16>();
  check_all<Fp16>();
}

TEST_CASE("rows behind the last expert's keep their values", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Offsets offsets{0, 3, 5};
  const std::int64_t rows = 40, out = 16;
  const auto y = random_elements<float>(rows * out, 1), bias = random_elements<float>(2 * out, 2);
  std::vector<float> want = y;
  expert_bias_reference(
      ExpertBias<float>{{rows, 0, out, 2, offsets.data()}, bias.data(), want.data()});
  const OnDevice<std::int32_t> on_offsets(offsets);
  const OnDevice<float> to(y), added(bias);
  require_success(
      expert_bias(ExpertBias<float>{{rows, 0, out, 2, on_offsets.data()}, added.data(), to.data()},
                  nullptr),
      "bias");
  CHECK(same_bits(to.host(), want));
  CHECK(std::equal(y.begin() + 5 * out, y.end(), to.host().begin() + 5 * out));
}

}  // namespace expert_bias_test
