// Weights in bf16 alone, rounded up or down at random: right on average, and the same bits whenever
// and however it is done again.
#include "kernels/optimizer/stochastic_rounding.hpp"
#include "core/error.hpp"
#include "group_fixture.hpp"
#include "support/catch.hpp"
#include <set>

namespace stochastic_rounding_test {

using namespace trainx;
using namespace trainx::optim;
using kernels::RoundingKey;

namespace {

const std::vector<options::OptimizerOptions>& all_optimizers() {
  static const std::vector<options::OptimizerOptions> all{options::AdamWOptions{},
                                                          options::SgdOptions{},
                                                          options::SgdOptions{0.9, true, 0},
                                                          options::AdamOptions{},
                                                          options::AdagradOptions{},
                                                          options::LionOptions{},
                                                          options::AdamWAnyPrecisionOptions{},
                                                          options::AdamW8bitOptions{},
                                                          options::LambOptions{},
                                                          options::AdafactorOptions{}};
  return all;
}

StepScalars scalars_of(std::int64_t step, double lr) {
  StepScalars s;
  s.norm2 = 1;
  s.applied_steps = step;
  s.lr = lr;
  return s;
}

GroupFixture fixture(const options::OptimizerOptions& o, std::optional<std::uint64_t> seed) {
  GroupFixture f(3001, o, DType::bf16, program::Master::absent, 7);
  f.rounding_seed = seed;
  return f;
}

}  // namespace

TEST_CASE(
    "of all 65536 words as many round away from zero as the value is beyond the lower neighbour") {
  for (const float x : {1.0f, 1.00390625f, -1.001f, 0.3f, -0.1f, 1e-20f, -3e-40f, 65535.7f}) {
    const std::uint32_t low = kernels::bits_of(x) & 0xffff;
    std::uint32_t away = 0;
    double sum = 0;
    for (std::uint32_t word = 0; word < 65536; ++word) {
      const kernels::Bf16 y = kernels::stochastic_weight(x, word << 16 | 0x1234);
      const std::uint32_t lower = kernels::bits_of(x) >> 16;
      REQUIRE((y.bits == lower || y.bits == lower + 1));
      away += y.bits != lower;
      sum += kernels::widened(y);
    }
    CAPTURE(x);
    CHECK(away == low);
    // exact within a power of two, and this in double
    CHECK(std::abs(sum / 65536 - static_cast<double>(x)) <=
          1e-9 * std::abs(static_cast<double>(x)));
  }
  CHECK(std::isnan(
      kernels::widened(kernels::stochastic_weight(std::numeric_limits<float>::quiet_NaN(), ~0u))));
  CHECK(kernels::stochastic_weight(std::numeric_limits<float>::infinity(), ~0u).bits == 0x7f80);
}

TEST_CASE(
    "the mean of many roundings is the value, over elements and over steps, with the words that "
    "updates take") {
  const RoundingKey key{42, 3, 8};
  const float x = kernels::float_of(0x3f804000);  // a quarter of the way
  const std::int64_t n = 200'000;
  const double want = 0.25, sigma = std::sqrt(0.25 * 0.75 / static_cast<double>(n));
  const auto share = [&](const auto& round) {
    std::int64_t up = 0;
    for (std::int64_t k = 0; k < n; ++k) up += round(k).bits != 0x3f80;
    return static_cast<double>(up) / static_cast<double>(n);
  };
  CHECK(std::abs(share([&](std::int64_t k) { return kernels::stochastic_weight(x, key, k, 0); }) -
                 want) < 5 * sigma);
  CHECK(std::abs(share([&](std::int64_t k) { return kernels::stochastic_weight(x, key, 17, k); }) -
                 want) < 5 * sigma);
  CHECK(std::abs(share([&](std::int64_t k) {
                   return kernels::stochastic_weight(x, {42, k, 8}, 17, 0);
                 }) -
                 want) < 5 * sigma);
  CHECK(
      std::abs(share([&](std::int64_t k) {
                 return kernels::stochastic_weight(x, {static_cast<std::uint64_t>(k), 3, 8}, 17, 0);
               }) -
               want) < 5 * sigma);
}

TEST_CASE(
    "random words are an element's own, wherever its range begins, and differ by seed, group, "
    "element and step") {
  const float x = kernels::float_of(0x3f808000);
  std::set<std::uint32_t> words;
  const auto add = [&](const RoundingKey& key, std::int64_t i, std::int64_t step) {
    const auto quad = kernels::rounding_words(key, (key.first + i) / 4, step);
    words.insert(quad.at[(key.first + i) % 4]);
    CHECK(kernels::stochastic_weight(x, key, i, step).bits ==
          kernels::stochastic_weight(x, quad.at[(key.first + i) % 4]).bits);
    CHECK(kernels::stochastic_weight(x, key, i, step).bits ==
          kernels::stochastic_weight(x, {key.seed, key.group, 0}, key.first + i, step).bits);
  };
  for (std::int64_t i = 0; i < 9; ++i) add({42, 3, 5}, i, 7);
  add({43, 3, 5}, 0, 7);
  add({42, 4, 5}, 0, 7);
  add({42, 3, 5}, 0, 8);
  add({42, 3, 5}, 0, 7 + (std::int64_t{1} << 32));
  add({42, 3, std::int64_t{1} << 34}, 5, 7);
  CHECK(words.size() == 14);
}

TEST_CASE(
    "updates that are too small for bf16 stand still when rounded to nearest, and add up when "
    "rounded stochastically") {
  const options::SgdOptions o{0, false, 0};
  GroupFixture nearest = fixture(o, std::nullopt), stochastic = fixture(o, 42);
  for (GroupFixture* f : {&nearest, &stochastic})
    for (std::size_t i = 0; i < f->used.size(); ++i)
      // 1, whose neighbour is 2^-7 away
      if (f->used[i]) f->gradient[i] = -1, f->bf16[i] = 0x3f80;
  const auto optimizer = make_optimizer(o);
  constexpr int steps = 64;
  const double lr = 0x1p-12;
  for (int t = 0; t < steps; ++t)
    for (GroupFixture* f : {&nearest, &stochastic})
      optimizer->update(f->memory(), scalars_of(t, lr));
  double sum = 0, n = 0;
  const auto weights = stochastic.weights();
  for (std::size_t i = 0; i < nearest.used.size(); ++i) {
    if (!nearest.used[i]) continue;
    REQUIRE(nearest.bf16[i] == 0x3f80);
    sum += weights[i];
    ++n;
  }
  const double moved = steps * lr, sigma = 0x1p-7 * std::sqrt(steps * lr / 0x1p-7) / std::sqrt(n);
  CHECK(std::abs(sum / n - 1 - moved) < 5 * sigma);
  CHECK(stochastic.gaps_untouched());
}

TEST_CASE(
    "every optimizer rounds stochastically: again the same bits, with another seed others, without "
    "it others, and gaps are left alone") {
  for (const auto& o : all_optimizers()) {
    CAPTURE(o.index());
    const auto run = [&](std::optional<std::uint64_t> seed) {
      GroupFixture f = fixture(o, seed);
      const auto optimizer = make_optimizer(o);
      for (int t = 0; t < 4; ++t) {
        f.new_gradient(100 + static_cast<unsigned>(t));
        optimizer->update(f.memory(), scalars_of(t, 1e-3));
      }
      CHECK(f.gaps_untouched());
      return f;
    };
    const GroupFixture first = run(42), again = run(42), other = run(43),
                       nearest = run(std::nullopt);
    CHECK(same_bits(first.bf16, again.bf16));
    CHECK_FALSE(same_bits(first.bf16, other.bf16));
    CHECK_FALSE(same_bits(first.bf16, nearest.bf16));
    for (std::size_t i = 0; i < first.used.size(); ++i)
      if (first.used[i]) REQUIRE(std::abs(first.weights()[0] - nearest.weights()[0]) < 0.2);
  }
}

TEST_CASE(
    "weights that are exact are not rounded stochastically, and none beside Kahan summation") {
  GroupFixture split(100, options::SgdOptions{}, DType::bf16, program::Master::split, 1);
  split.rounding_seed = 1;
  CHECK_THROWS_AS(make_optimizer(options::SgdOptions{})->update(split.memory(), scalars_of(0, 1)),
                  InternalError);
  options::AdamWAnyPrecisionOptions kahan;
  kahan.use_kahan_summation = true;
  GroupFixture f = fixture(kahan, 1);
  CHECK_THROWS_AS(make_optimizer(kahan)->update(f.memory(), scalars_of(0, 1)), InternalError);
}

}  // namespace stochastic_rounding_test
