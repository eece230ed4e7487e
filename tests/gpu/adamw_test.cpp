#include "kernels/bits.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "gpu/device.hpp"
#include <limits>
#include <memory>
#include <random>

namespace adamw_test {

using namespace trainx::kernels;

namespace {

/// One range's elements on the host.
struct Elements {
  std::vector<float> gradient, exact, exp_avg, exp_avg_sq;
  std::vector<Bf16> rounded;
  std::vector<std::uint16_t> low;
  bool decays = false;

  Elements(std::size_t n, bool range_decays, unsigned seed)
      : gradient(n), exact(n), exp_avg(n), exp_avg_sq(n), rounded(n), low(n), decays(range_decays) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    for (std::size_t i = 0; i < n; ++i) {
      gradient[i] = normal(random) * 0.1f;
      exact[i] = normal(random);
      exp_avg[i] = normal(random) * 0.01f;
      exp_avg_sq[i] = 1e-4f * normal(random) * normal(random);
      exp_avg_sq[i] = exp_avg_sq[i] < 0 ? -exp_avg_sq[i] : exp_avg_sq[i];
      rounded[i] = nearest_weight(exact[i]);
      low[i] = low_bits(exact[i]);
    }
  }
  UpdateRange range(WeightKind kind) {
    UpdateRange r{gradient.data(),
                  rounded.data(),
                  nullptr,
                  {exp_avg.data(), exp_avg_sq.data()},
                  static_cast<std::int64_t>(exact.size()),
                  decays};
    if (kind == WeightKind::fp32) r.parameter = exact.data();
    if (kind == WeightKind::bf16_with_master || kind == WeightKind::fp16_with_master)
      r.master = exact.data();
    if (kind == WeightKind::bf16_split) r.master = low.data();
    r.rounding = {42, 3, decays ? 1 << 20 : 6};  // the second not at a multiple of four
    return r;
  }
};

/// The same on the device, each array `shift` of its elements off alignment.
struct DeviceElements {
  OnDevice<float> gradient, exact, exp_avg, exp_avg_sq;
  OnDevice<Bf16> rounded;
  OnDevice<std::uint16_t> low;
  DeviceElements(const Elements& e, std::size_t shift)
      : gradient(e.gradient, shift),
        exact(e.exact, shift),
        exp_avg(e.exp_avg, shift),
        exp_avg_sq(e.exp_avg_sq, shift),
        rounded(e.rounded, shift),
        low(e.low, shift) {}
  UpdateRange range(WeightKind kind, const Elements& e) const {
    UpdateRange r{gradient.data(),
                  rounded.data(),
                  nullptr,
                  {exp_avg.data(), exp_avg_sq.data()},
                  static_cast<std::int64_t>(e.exact.size()),
                  e.decays};
    if (kind == WeightKind::fp32) r.parameter = exact.data();
    if (kind == WeightKind::bf16_with_master || kind == WeightKind::fp16_with_master)
      r.master = exact.data();
    if (kind == WeightKind::bf16_split) r.master = low.data();
    r.rounding = {42, 3, e.decays ? 1 << 20 : 6};  // the second not at a multiple of four
    return r;
  }
  Elements host(const Elements& like) const {
    Elements e = like;
    e.gradient = gradient.host();
    e.exact = exact.host();
    e.exp_avg = exp_avg.host();
    e.exp_avg_sq = exp_avg_sq.host();
    e.rounded = rounded.host();
    e.low = low.host();
    return e;
  }
};

struct Scalars {
  double norm2 = 25, target_count = 96;
  std::int64_t applied_steps = 0;
  std::vector<double> lr_table{1e-2, 2e-2, 3e-2};
};
const AdamWSettings settings{0.9, 0.95, 1e-8, 0.1, 128, 1.0};

std::vector<Elements> reference_of(std::vector<Elements> ranges, WeightKind kind,
                                   const Scalars& s) {
  std::vector<UpdateRange> table;
  std::vector<std::int64_t> elements;
  for (Elements& e : ranges) {
    table.push_back(e.range(kind));
    elements.push_back(table.back().elements);
  }
  const auto chunks = chunks_of(elements);
  adamw_reference({table.data(), chunks.data(), static_cast<std::int64_t>(chunks.size())}, kind,
                  {&s.norm2, &s.target_count, &s.applied_steps, s.lr_table.data(),
                   static_cast<std::int64_t>(s.lr_table.size())},
                  settings);
  return ranges;
}

std::vector<Elements> device_of(const std::vector<Elements>& ranges, WeightKind kind,
                                const Scalars& s, std::size_t shift) {
  std::vector<std::unique_ptr<DeviceElements>> memory;
  std::vector<UpdateRange> table;
  std::vector<std::int64_t> elements;
  for (const Elements& e : ranges) {
    memory.push_back(std::make_unique<DeviceElements>(e, shift));
    table.push_back(memory.back()->range(kind, e));
    elements.push_back(table.back().elements);
  }
  const auto chunks = chunks_of(elements);
  const OnDevice<UpdateRange> device_table(table);
  const OnDevice<Chunk> device_chunks(chunks);
  const OnDevice<double> norm2(std::vector<double>{s.norm2}),
      target_count(std::vector<double>{s.target_count}), lr_table(s.lr_table);
  const OnDevice<std::int64_t> applied_steps(std::vector<std::int64_t>{s.applied_steps});
  require_success(
      adamw({device_table.data(), device_chunks.data(), static_cast<std::int64_t>(chunks.size())},
            kind,
            {norm2.data(), target_count.data(), applied_steps.data(), lr_table.data(),
             static_cast<std::int64_t>(s.lr_table.size())},
            settings, nullptr),
      "adamw");
  std::vector<Elements> out;
  for (std::size_t i = 0; i < ranges.size(); ++i) out.push_back(memory[i]->host(ranges[i]));
  return out;
}

bool same_bits(const Elements& a, const Elements& b) {
  return trainx::kernels::same_bits(a.gradient, b.gradient) &&
         trainx::kernels::same_bits(a.exact, b.exact) &&
         trainx::kernels::same_bits(a.exp_avg, b.exp_avg) &&
         trainx::kernels::same_bits(a.exp_avg_sq, b.exp_avg_sq) &&
         trainx::kernels::same_bits(a.rounded, b.rounded) &&
         trainx::kernels::same_bits(a.low, b.low);
}

const std::vector<WeightKind> kinds{WeightKind::fp32,
                                    WeightKind::bf16,
                                    WeightKind::bf16_with_master,
                                    WeightKind::bf16_split,
                                    WeightKind::fp16_with_master,
                                    WeightKind::bf16_stochastic};

}  // namespace

TEST_CASE("the adamw kernel gives the bits of its reference for all sizes, kinds and alignments",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::size_t n =
      GENERATE(0u, 1u, 3u, 4u, 5u, 1023u, 1024u, 1025u, 4095u, 4096u, 4097u, 1'000'003u);
  const std::size_t shift = GENERATE(0u, 1u, 2u, 4u);
  const std::vector<Elements> ranges{{n, true, 1}, {n / 2, false, 2}, {1, true, 3}, {0, true, 4}};
  for (const WeightKind kind : kinds) {
    // In the first step the powers of the betas are the betas themselves, so nothing may differ.
    const Scalars scalars;
    const auto want = reference_of(ranges, kind, scalars),
               got = device_of(ranges, kind, scalars, shift);
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      INFO("n " << n << " shift " << shift << " kind " << static_cast<int>(kind) << " range " << r);
      CHECK(same_bits(got[r], want[r]));
      if (!ranges[r].exact.empty()) CHECK_FALSE(same_bits(got[r], ranges[r]));
    }
  }
}

TEST_CASE("the adamw kernel equals its reference in later steps, within a last bit of pow",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::vector<Elements> ranges{{5003, true, 1}, {777, false, 2}};
  for (const std::int64_t applied : {1, 2, 10, 1000, 1'000'000}) {
    Scalars scalars;
    scalars.applied_steps = applied;
    const auto want = reference_of(ranges, WeightKind::fp32, scalars),
               got = device_of(ranges, WeightKind::fp32, scalars, 0);
    for (std::size_t r = 0; r < ranges.size(); ++r)
      for (std::size_t i = 0; i < ranges[r].exact.size(); ++i)
        if (!(std::abs(got[r].exact[i] - want[r].exact[i]) <=
                  2e-7f * (1 + std::abs(want[r].exact[i])) &&
              got[r].exp_avg[i] == want[r].exp_avg[i] &&
              got[r].exp_avg_sq[i] == want[r].exp_avg_sq[i]))
          FAIL("applied " << applied << " range " << r << " element " << i << ": "
                          << got[r].exact[i] << " instead of " << want[r].exact[i]);
  }
}

TEST_CASE("a norm that is not finite leaves every bit as it was", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Elements> ranges{{5003, true, 1}};
  ranges[0].gradient[17] = std::numeric_limits<float>::quiet_NaN();
  for (const double norm2 : {std::nan(""), inf})
    for (const WeightKind kind : kinds) {
      Scalars scalars;
      scalars.norm2 = norm2;
      // NaN of the gradient keeps its bits as well, so nothing was written.
      CHECK(same_bits(device_of(ranges, kind, scalars, 0)[0], ranges[0]));
    }
}

TEST_CASE("a step without targets is a step with a gradient of zero", "[gpu]") {
  TRAINX_NEEDS_GPU();
  std::vector<Elements> zeros{{5003, true, 1}}, some = zeros;
  for (float& g : zeros[0].gradient) g = 0;
  for (const WeightKind kind : kinds) {
    Scalars none, many;
    none.target_count = 0;
    none.norm2 = 25;
    many.norm2 = 0;
    const auto got = device_of(some, kind, none, 0)[0], want = device_of(zeros, kind, many, 0)[0];
    CHECK(got.exp_avg == want.exp_avg);
    CHECK(got.exp_avg_sq == want.exp_avg_sq);
    CHECK(got.exact == want.exact);
  }
}

TEST_CASE("a NaN among finite ones stays where it is", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const WeightKind kind : kinds) {
    const std::vector<Elements> sound{{4099, true, 1}};
    std::vector<Elements> ranges = sound;
    // a norm that was computed without it
    ranges[0].gradient[4097] = std::numeric_limits<float>::quiet_NaN();
    const auto want = device_of(sound, kind, {}, 0)[0], got = device_of(ranges, kind, {}, 0)[0];
    CHECK(std::isnan(got.exp_avg[4097]));
    const bool weight_is_nan = kind == WeightKind::fp32 || kind == WeightKind::bf16_with_master ||
                                       kind == WeightKind::fp16_with_master
                                   ? std::isnan(got.exact[4097])
                               : kind == WeightKind::bf16 || kind == WeightKind::bf16_stochastic
                                   ? std::isnan(widened(got.rounded[4097]))
                                   : std::isnan(joined(got.rounded[4097], got.low[4097]));
    CHECK(weight_is_nan);
    for (std::size_t i = 0; i < 4099; ++i)
      if (i != 4097 &&
          !(got.exact[i] == want.exact[i] && got.rounded[i].bits == want.rounded[i].bits &&
            got.exp_avg[i] == want.exp_avg[i]))
        FAIL("element " << i);
  }
}

TEST_CASE("repeats of the adamw kernel give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::vector<Elements> ranges{{1'000'003, true, 1}, {65'536, false, 2}};
  Scalars scalars;
  scalars.applied_steps = 41;
  const auto first = device_of(ranges, WeightKind::bf16_split, scalars, 0);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto again = device_of(ranges, WeightKind::bf16_split, scalars, 0);
    for (std::size_t r = 0; r < ranges.size(); ++r) CHECK(same_bits(again[r], first[r]));
  }
}

}  // namespace adamw_test
