#include "kernels/reduce/add.hpp"
#include "gpu/operands.hpp"

using namespace trainx::kernels;

namespace {

template <class T>
void check(std::int64_t elements, std::size_t shift) {
  INFO("elements " << elements << " shift " << shift);
  const auto x = random_elements<T>(elements, 1);
  auto want = random_elements<float>(elements, 2);
  const OnDevice<T> in(x, shift);
  const OnDevice<float> sum(want, shift);
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
    }
}
