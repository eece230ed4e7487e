#include "kernels/bits.hpp"
#include "kernels/optimizer/sgd.hpp"
#include "gpu/device.hpp"
#include <limits>
#include <random>
#include <span>

namespace sgd_test {

using namespace trainx::kernels;

namespace {

struct Elements {
  std::vector<float> gradient, exact, velocity;
  std::vector<Bf16> rounded;
  std::vector<std::uint16_t> low;

  explicit Elements(std::size_t n) : gradient(n), exact(n), velocity(n), rounded(n), low(n) {
    std::mt19937 random(17);
    std::normal_distribution<float> normal(0, 1);
    for (std::size_t i = 0; i < n; ++i) {
      gradient[i] = normal(random) * 0.1f;
      exact[i] = normal(random);
      velocity[i] = normal(random) * 0.01f;
      rounded[i] = nearest_weight(exact[i]);
      low[i] = low_bits(exact[i]);
    }
  }
};

const std::vector<double> lr_table{1e-2, 2e-2};
constexpr std::int64_t applied_steps = 1;

/// Two ranges over one array, the first decays. `at`: pointers to gradient, exact, velocity,
/// rounded, low.
template <class Memory>
std::vector<UpdateRange> ranges_of(const Memory& m, WeightKind kind, bool velocity,
                                   std::int64_t n) {
  std::vector<UpdateRange> ranges;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, n / 2}, {n / 2, n}}) {
    UpdateRange r{m.gradient.data() + begin, m.rounded.data() + begin, nullptr};
    if (kind == WeightKind::fp32) r.parameter = m.exact.data() + begin;
    if (kind == WeightKind::bf16_with_master || kind == WeightKind::fp16_with_master)
      r.master = m.exact.data() + begin;
    if (kind == WeightKind::bf16_split) r.master = m.low.data() + begin;
    if (velocity) r.states[0] = m.velocity.data() + begin;
    r.elements = end - begin;
    r.decays = begin == 0;
    r.rounding = {42, 3, begin};
    ranges.push_back(r);
  }
  return ranges;
}

struct HostMemory {
  std::span<float> gradient, exact, velocity;
  std::span<Bf16> rounded;
  std::span<std::uint16_t> low;
};

void check(std::size_t n, WeightKind kind, const SgdSettings& settings, std::size_t shift,
           double norm2 = 25) {
  INFO("elements " << n << " kind " << static_cast<int>(kind) << " momentum " << settings.momentum
                   << " nesterov " << settings.nesterov << " shift " << shift);
  Elements want(n);
  const OnDevice<float> gradient(want.gradient, shift), exact(want.exact, shift),
      velocity(want.velocity, shift);
  const OnDevice<Bf16> rounded(want.rounded, shift);
  const OnDevice<std::uint16_t> low(want.low, shift);
  const double count = 96;
  const auto host =
      ranges_of(HostMemory{want.gradient, want.exact, want.velocity, want.rounded, want.low}, kind,
                settings.momentum > 0, static_cast<std::int64_t>(n));
  const auto chunks = chunks_of({host[0].elements, host[1].elements});
  sgd_reference({host.data(), chunks.data(), static_cast<std::int64_t>(chunks.size())}, kind,
                {&norm2, &count, &applied_steps, lr_table.data(), 2}, settings);

  struct DeviceMemory {
    const OnDevice<float>&gradient, &exact, &velocity;
    const OnDevice<Bf16>& rounded;
    const OnDevice<std::uint16_t>& low;
  };
  const OnDevice<UpdateRange> ranges(
      ranges_of(DeviceMemory{gradient, exact, velocity, rounded, low}, kind, settings.momentum > 0,
                static_cast<std::int64_t>(n)));
  const OnDevice<Chunk> device_chunks(chunks);
  const OnDevice<double> norm(std::vector<double>{norm2}), targets(std::vector<double>{count}),
      lr(lr_table);
  const OnDevice<std::int64_t> applied(std::vector<std::int64_t>{applied_steps});
  require_success(
      sgd({ranges.data(), device_chunks.data(), static_cast<std::int64_t>(chunks.size())}, kind,
          {norm.data(), targets.data(), applied.data(), lr.data(), 2}, settings, nullptr),
      "sgd");
  CHECK(same_bits(exact.host(), want.exact));
  CHECK(same_bits(velocity.host(), want.velocity));
  CHECK(same_bits(rounded.host(), want.rounded));
  CHECK(same_bits(low.host(), want.low));
}

}  // namespace

TEST_CASE(
    "the sgd kernel gives the bits of its reference for all sizes, kinds, forms and alignments",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const std::size_t n : {0u, 1u, 3u, 4u, 5u, 1024u, 4095u, 8193u, 300'003u})
    for (const WeightKind kind :
         {WeightKind::fp32, WeightKind::bf16, WeightKind::bf16_with_master, WeightKind::bf16_split,
          WeightKind::fp16_with_master, WeightKind::bf16_stochastic})
      for (const SgdSettings& s :
           {SgdSettings{0, false, 0, {128, 0}}, SgdSettings{0, false, 0.1, {128, 1}},
            SgdSettings{0.9, false, 0.1, {128, 1}}, SgdSettings{0.9, true, 0, {128, 0}}})
        for (const std::size_t shift : {0u, 1u}) check(n, kind, s, shift);
}

TEST_CASE("sgd touches nothing where the norm is not finite", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const double norm2 :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    check(5000, WeightKind::bf16_split, {0.9, false, 0.1, {128, 1}}, 0, norm2);
}

}  // namespace sgd_test
