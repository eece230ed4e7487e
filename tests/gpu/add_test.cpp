#include "kernels/reduce/add.hpp"
#include "gpu/operands.hpp"

namespace add_test {

using namespace trainx::kernels;

namespace {

template <class T>
std::vector<T> numbers(std::int64_t elements, unsigned seed) {
  if constexpr (sizeof(T) == 8) {
    const auto x = random_elements<float>(elements, seed);
    return {x.begin(), x.end()};
  } else {
    return random_elements<T>(elements, seed);
  }
}

template <class T, class Sum = float>
void check(std::int64_t elements, std::size_t shift) {
  INFO("elements " << elements << " shift " << shift);
  const auto x = numbers<T>(elements, 1);
  auto want = numbers<Sum>(elements, 2);
  const OnDevice<T> in(x, shift);
  const OnDevice<Sum> sum(want, shift);
  require_success(add(sum.data(), in.data(), elements, nullptr), "add");
  add_reference(want.data(), x.data(), elements);
  CHECK(same_bits(sum.host(), want));
}

}  // namespace

TEST_CASE("sums equal their reference to the bit for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t elements : {0, 1, 7, 8, 9, 255, 256, 2048, 2049, 1'000'003})
    for (const std::size_t shift : {0u, 1u}) {
      check<float>(elements, shift);
      check<Bf16>(elements, shift);
      check<double, double>(elements, shift);
    }
}

}  // namespace add_test
