#include "kernels/random/initial_values.hpp"
#include "gpu/device.hpp"
#include <algorithm>

namespace initial_values_test {

using namespace trainx::kernels;

namespace {

constexpr std::uint64_t key = 0xfedcba9876543210;

/// Memory for each copy of a weight, on the host.
struct Copies {
  std::vector<float> exact, average;
  std::vector<Bf16> bf16;
  std::vector<std::uint16_t> low;
  std::vector<Fp16> fp16;
  explicit Copies(std::size_t n) : exact(n), average(n), bf16(n), low(n), fp16(n) {}
};

void check(const InitialValues& values, std::size_t shift) {
  const auto n = static_cast<std::size_t>(values.elements);
  Copies want(n);
  initial_values_reference(
      {want.exact.data(), want.average.data(), want.bf16.data(), want.low.data(), want.fp16.data()},
      values);
  const Copies none(n);
  // other shifts than the first one's, so that some are aligned where others are not
  const OnDevice<float> exact(none.exact, shift), average(none.average, 0);
  const OnDevice<Bf16> bf16(none.bf16, shift);
  const OnDevice<std::uint16_t> low(none.low, shift);
  const OnDevice<Fp16> fp16(none.fp16, shift);
  INFO("law " << static_cast<int>(values.law) << " key " << values.key << " first " << values.first
              << " elements " << n << " shift " << shift);
  require_success(
      initial_values({exact.data(), average.data(), bf16.data(), low.data(), fp16.data()}, values,
                     nullptr),
      "all copies");
  CHECK(same_bits(exact.host(), want.exact));
  CHECK(same_bits(average.host(), want.average));
  CHECK(same_bits(bf16.host(), want.bf16));
  CHECK(same_bits(low.host(), want.low));
  CHECK(same_bits(fp16.host(), want.fp16));
  // one copy alone, which may be written in other pieces
  const OnDevice<Bf16> alone(none.bf16, shift);
  require_success(initial_values({.bf16 = alone.data()}, values, nullptr), "one copy");
  CHECK(same_bits(alone.host(), want.bf16));
}

const std::vector<InitialValues> laws{
    {.scale = 0},
    {.scale = 1},
    {.law = InitialLaw::normal, .scale = 0.02, .key = key},
    {.law = InitialLaw::normal, .scale = 1e-6, .key = key},  // subnormal in fp16
    {.law = InitialLaw::uniform, .scale = 0.125, .key = ~key},
};

}  // namespace

TEST_CASE("initial values of the GPU have the bits of the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (InitialValues values : laws)
    for (const std::int64_t first :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, std::int64_t{130},
          (std::int64_t{1} << 34) - 2})
      for (const std::int64_t elements : {0, 1, 3, 4, 5, 255, 256, 1023, 4099})
        for (const std::size_t shift : {0u, 1u, 4u}) {
          values.first = first;
          values.elements = elements;
          check(values, shift);
        }
}

TEST_CASE("rows that pad and the padding token's row are zero on the GPU", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::int64_t first : {0, 5})
    check({.law = InitialLaw::normal,
           .scale = 0.02,
           .key = key,
           .first = first,
           .elements = 5000,
           .end = 4321,
           .zero_begin = 63,
           .zero_end = 126},
          0);
}

TEST_CASE("ten million initial values, to memory of the GPU and pinned memory of the host",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  InitialValues values = laws[2];
  values.elements = 10'000'003;
  const auto n = static_cast<std::size_t>(values.elements);
  Copies want(n);
  initial_values_reference({.exact = want.exact.data(), .bf16 = want.bf16.data()}, values);
  const OnDevice<float> exact(std::vector<float>(n, 0.0f));
  require_success(initial_values({.exact = exact.data()}, values, nullptr), "device memory");
  CHECK(same_bits(exact.host(), want.exact));
  Bf16* pinned = nullptr;
  require_success(
      cudaHostAlloc(reinterpret_cast<void**>(&pinned), n * sizeof(Bf16), cudaHostAllocDefault),
      "cudaHostAlloc");
  require_success(initial_values({.bf16 = pinned}, values, nullptr), "pinned memory");
  require_success(cudaDeviceSynchronize(), "kernel");
  CHECK(std::equal(pinned, pinned + n, want.bf16.begin(),
                   [](Bf16 a, Bf16 b) { return a.bits == b.bits; }));
  cudaFreeHost(pinned);
}

}  // namespace initial_values_test
