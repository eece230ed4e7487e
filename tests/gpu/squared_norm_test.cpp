#include "kernels/optimizer/squared_norm.hpp"
#include "gpu/device.hpp"
#include <cmath>
#include <limits>
#include <random>

namespace squared_norm_test {

using namespace trainx::kernels;

namespace {

std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(n);
  for (float& f : x) f = normal(random);
  return x;
}

// Of vectors on the host, on the device (each `shift` elements off alignment) and by the reference.
struct Norms {
  double device = -1, reference = -1;
};
Norms norms_of(const std::vector<std::vector<float>>& vectors, std::size_t shift) {
  std::vector<OnDevice<float>> memory;
  std::vector<NormRange> ranges, host_ranges;
  std::vector<std::int64_t> elements;
  for (const auto& v : vectors) {
    memory.emplace_back(v, shift);
    elements.push_back(static_cast<std::int64_t>(v.size()));
    ranges.push_back({memory.back().data(), elements.back()});
    host_ranges.push_back({v.data(), elements.back()});
  }
  const auto chunks = chunks_of(elements);
  const auto count = static_cast<std::int64_t>(chunks.size());
  const OnDevice<NormRange> device_ranges(ranges);
  const OnDevice<Chunk> device_chunks(chunks);
  const OnDevice<double> partial(std::vector<double>(chunks.size(), std::nan(""))),
      norm2(std::vector<double>{-1.0});
  require_success(squared_norm({device_ranges.data(), device_chunks.data(), count}, partial.data(),
                               norm2.data(), false, nullptr),
                  "squared_norm");
  Norms norms;
  norms.device = norm2.host()[0];
  partial.host();  // its guards
  squared_norm_reference({host_ranges.data(), chunks.data(), count}, &norms.reference);
  return norms;
}

}  // namespace

TEST_CASE("the squared norm equals its reference for all sizes and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::size_t n =
      GENERATE(0u, 1u, 3u, 4u, 5u, 255u, 256u, 257u, 1023u, 1024u, 4095u, 4096u, 4097u, 1'000'003u);
  const std::size_t shift = GENERATE(0u, 1u, 2u, 3u);
  const Norms norms =
      norms_of({random_values(n, 1), random_values(n / 3, 2), {}, random_values(7, 3)}, shift);
  INFO("n " << n << " shift " << shift);
  CHECK(std::abs(norms.device - norms.reference) <= 1e-12 * norms.reference);
}

TEST_CASE("squared norms are added where that is asked for, NaN and infinities too", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto x = random_values(1000, 5);
  const OnDevice<float> memory(x);
  const auto chunks = chunks_of({1000});
  const OnDevice<NormRange> ranges(std::vector<NormRange>{{memory.data(), 1000}});
  const OnDevice<Chunk> device_chunks(chunks);
  for (const double before : {0.0, 2.5, static_cast<double>(INFINITY), std::nan("")}) {
    const OnDevice<double> partial(std::vector<double>(chunks.size(), std::nan(""))),
        norm2(std::vector<double>{before});
    require_success(squared_norm({ranges.data(), device_chunks.data(),
                                  static_cast<std::int64_t>(chunks.size())},
                                 partial.data(), norm2.data(), true, nullptr),
                    "squared_norm");
    double want = before;
    const NormRange range{x.data(), 1000};
    squared_norm_reference({&range, chunks.data(), static_cast<std::int64_t>(chunks.size())}, &want,
                           true);
    const double got = norm2.host()[0];
    if (std::isfinite(want))
      CHECK(std::abs(got - want) <= 1e-12 * want);
    else
      CHECK(std::isnan(got) == std::isnan(want));
    CHECK(std::isfinite(got) == std::isfinite(before));
  }
}

TEST_CASE("the squared norm of nothing is 0", "[gpu]") {
  TRAINX_NEEDS_GPU();
  CHECK(norms_of({}, 0).device == 0);
  CHECK(norms_of({{}, {}}, 0).device == 0);
}

TEST_CASE("what is not finite shows in the squared norm", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::size_t at : {0u, 4095u, 4096u, 100'002u}) {
    auto x = random_values(100'003, 4);
    x[at] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(norms_of({x}, 0).device));
    x[at] = -inf;
    CHECK(norms_of({x}, 0).device == std::numeric_limits<double>::infinity());
    x[at] = 3e38f;  // squared beyond fp32
    CHECK(norms_of({x}, 0).device >= 8.9e76);
  }
}

TEST_CASE("repeats of the squared norm, and other alignments, give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::vector<std::vector<float>> vectors{random_values(3'000'001, 5), random_values(999, 6)};
  const double first = norms_of(vectors, 0).device;
  for (std::size_t repeat = 0; repeat < 10; ++repeat)
    CHECK(norms_of(vectors, repeat % 4).device == first);
}

}  // namespace squared_norm_test
