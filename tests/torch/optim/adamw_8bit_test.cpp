#include "kernels/optimizer/dynamic_map.hpp"
#include <random>
#include <algorithm>
#include "formula.hpp"
#include "support/catch.hpp"

namespace adamw_8bit_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

// Dettmers et al. 2022: a sign, an exponent of base ten that as many zeros tell, and the bits that
// are left cut the power of ten evenly. In double, plainly.
std::vector<double> map_of(bool is_signed) {
  std::vector<double> map{0, 1};
  for (int power = 0; power < 7; ++power) {
    const int cuts = (is_signed ? 1 : 2) << power;
    for (int k = 0; k < cuts; ++k) {
      const double mean = std::pow(10.0, power - 6) * (0.1 + 0.9 * (k + 0.5) / cuts);
      map.push_back(mean);
      if (is_signed) map.push_back(-mean);
    }
  }
  std::sort(map.begin(), map.end());
  return map;
}

struct Quantised {
  std::vector<double> value;  // as the bytes say
  void store(const std::vector<double>& map, const std::vector<double>& x) {
    value = x;
    for (std::size_t begin = 0; begin < x.size(); begin += 256) {
      const std::size_t end = std::min(x.size(), begin + 256);
      double most = 0;
      for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::abs(x[i]));
      for (std::size_t i = begin; i < end; ++i)
        value[i] = most > 0 ? most * *std::min_element(map.begin(), map.end(),
                                                       [&](double a, double b) {
                                                         return std::abs(a - x[i] / most) <
                                                                std::abs(b - x[i] / most);
                                                       })
                            : 0;
    }
  }
};

}  // namespace

TEST_CASE("the dynamic maps are those of the paper") {
  for (const bool is_signed : {false, true}) {
    const float* map = kernels::dynamic_map(is_signed);
    const auto want = map_of(is_signed);
    REQUIRE(want.size() == 256);
    for (std::size_t i = 0; i < 256; ++i) {
      CHECK(std::abs(map[i] - want[i]) <= 2e-7 * std::abs(want[i]));
      CHECK(kernels::nearest_code(map, map[i]) == i);
      if (i > 0)
        CHECK(kernels::nearest_code(map, static_cast<float>(0.5 * (want[i - 1] + want[i]) +
                                                            0.1 * (want[i] - want[i - 1]))) == i);
      if (i > 0)
        CHECK(kernels::nearest_code(map, static_cast<float>(0.5 * (want[i - 1] + want[i]) -
                                                            0.1 * (want[i] - want[i - 1]))) ==
              i - 1);
    }
    CHECK(kernels::nearest_code(map, 2) == 255);
    CHECK(kernels::nearest_code(map, -2) == 0);
  }
}

TEST_CASE("codes found from where their exponents lead are the nearest ones") {
  std::mt19937 random(71);
  std::uniform_real_distribution<float> uniform(-1, 1), exponent(-30, 0);
  for (const bool is_signed : {false, true}) {
    const float* map = kernels::dynamic_map(is_signed);
    const kernels::DynamicCodes& codes = kernels::dynamic_codes();
    const auto check = [&](float x) {
      if (!is_signed) x = std::abs(x);
      const int code = is_signed ? codes.of(x) : codes.of_square(x);
      if (code != kernels::nearest_code(map, x))
        FAIL("x " << x << ": " << code << " and not " << int(kernels::nearest_code(map, x)));
    };
    for (int i = 0; i < 256; ++i)
      for (const float x : {map[i], i > 0 ? (map[i - 1] + map[i]) / 2 : -1.0f}) {
        check(x);
        check(std::nextafter(x, 2.0f));
        check(std::nextafter(x, -2.0f));
      }
    for (int bits = 0; bits <= 0x3f8; ++bits)
      check(kernels::float_of(static_cast<std::uint32_t>(bits) << 20)),
          check(-kernels::float_of(static_cast<std::uint32_t>(bits) << 20));
    for (int i = 0; i < 1000000; ++i) check(uniform(random) * std::exp2(exponent(random)));
    for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f}) check(x);
  }
}

TEST_CASE("adamw_8bit equals its formula in double over 50 steps") {
  const options::AdamW8bitOptions o{0.9, 0.95, 1e-8, 0.1, 4096};
  const std::int64_t n = GENERATE(1, 4095, 4096, 4097, 20003);
  GroupFixture f(n, o, DType::f32, Master::absent, 67);
  std::vector<Quantised> m(3), v(3);
  const auto signed_map = map_of(true), unsigned_map = map_of(false);
  const auto want = follow_tensors(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t k, const std::vector<double>& g,
          double* w) {
        m[k].value.resize(g.size());
        v[k].value.resize(g.size());
        auto new_m = m[k].value, new_v = v[k].value;
        for (std::size_t i = 0; i < g.size(); ++i) {
          new_m[i] = o.beta1 * new_m[i] + (1 - o.beta1) * g[i];
          new_v[i] = o.beta2 * new_v[i] + (1 - o.beta2) * g[i] * g[i];
          const double m_hat = new_m[i] / (1 - std::pow(o.beta1, s.t)),
                       v_hat = new_v[i] / (1 - std::pow(o.beta2, s.t));
          w[i] -= s.lr *
                  (m_hat / (std::sqrt(v_hat) + o.eps) + (p.decay ? o.weight_decay * w[i] : 0));
        }
        if (p.elements() >= o.min_8bit_size) {
          m[k].store(signed_map, new_m);
          v[k].store(unsigned_map, new_v);
        } else {
          m[k].value = new_m;
          v[k].value = new_v;
        }
      },
      67);
  // A moment on the border between two bytes may go to the other one; from then on this element
  // takes other steps.
  std::size_t apart = 0, all = 0;
  for (std::size_t i = 0; i < f.used.size(); ++i) {
    if (!f.used[i]) continue;
    ++all;
    apart += !(std::abs(f.exact[i] - want[i]) <= 1e-4);
    if (!(std::abs(f.exact[i] - want[i]) <= 0.2))
      FAIL("n " << n << " element " << i << ": " << f.exact[i] << " instead of " << want[i]);
  }
  CHECK(apart <= all / 100);
  CHECK(f.gaps_untouched());
}

TEST_CASE("small tensors, and embeddings where it is asked, have moments in fp32") {
  options::AdamW8bitOptions o;
  program::ParameterSpec p{.name = "p", .dims = {64, 64}, .embedding = true};
  const auto states = options::states(o);
  CHECK(states[0].dims(p).empty());
  CHECK(states[2].dims(p) == p.dims);
  CHECK(states[3].dims(p) == std::vector<std::int64_t>{16});
  o.embeddings_32bit = true;
  CHECK(options::states(o)[0].dims(p) == p.dims);
  CHECK(options::states(o)[2].dims(p).empty());
  p.embedding = false;
  p.dims = {63, 65};
  CHECK(options::states(o)[0].dims(p) == p.dims);
  const options::AdamW8bitOptions never{0.9, 0.999, 1e-8, 0.01, 1LL << 40};
  const options::AdamWOptions adamw;
  GroupFixture f(20003, never, DType::bf16, Master::split, 71),
      same(20003, adamw, DType::bf16, Master::split, 71);
  for (std::int64_t step = 0; step < 5; ++step) {
    f.new_gradient(static_cast<unsigned>(step));
    same.gradient = f.gradient;
    make_optimizer(never)->update(f.memory(), scalars_of(f, step));
    make_optimizer(adamw)->update(same.memory(), scalars_of(same, step));
  }
  CHECK(same_bits(f.bf16, same.bf16));
  CHECK(same_bits(f.low, same.low));
}

}  // namespace adamw_8bit_test
