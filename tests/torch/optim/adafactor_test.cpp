#include <algorithm>
#include <span>
#include "formula.hpp"
#include "support/catch.hpp"

namespace adafactor_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

std::vector<options::AdafactorOptions> forms() {
  options::AdafactorOptions plain, fixed, momentum, all;
  fixed.relative_step = fixed.scale_parameter = false;
  fixed.clip_threshold = 0.5;
  momentum.beta1 = 0.9;
  all.beta1 = 0.5;
  all.weight_decay = 0.1;
  all.decay_rate = -0.5;
  all.eps1 = 1e-8;
  all.eps2 = 0.6;  // above some tensors' root mean square
  return {plain, fixed, momentum, all};
}

}  // namespace

TEST_CASE("adafactor equals its formula in double over 50 steps") {
  const options::AdafactorOptions o = forms()[GENERATE(0u, 1u, 2u, 3u)];
  const auto [rows, columns] = GENERATE(std::pair{1, 1}, std::pair{1, 257}, std::pair{257, 1},
                                        std::pair{64, 64}, std::pair{77, 301});
  GroupFixture f(matrix_group(rows, columns), options::states(o), DType::f32, Master::absent, 83);
  struct State {
    std::vector<double> row, column, second, first;
  };
  std::vector<State> states(2);
  // Shazeer & Stern 2018, Alg. 4 and 5, with the choices of transformers.Adafactor.
  const auto want = follow_tensors(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t k, const std::vector<double>& g,
          double* w) {
        const std::size_t n = g.size(), c = static_cast<std::size_t>(p.dims.back()), r = n / c;
        const auto rms = [&](const auto* x) {
          double sum = 0;
          for (std::size_t i = 0; i < n; ++i)
            sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
          return std::sqrt(sum / static_cast<double>(n));
        };
        State& state = states[k];
        const double beta2 = 1 - std::pow(s.t, o.decay_rate),
                     lr = s.lr * (o.scale_parameter ? std::max(o.eps2, rms(w)) : 1);
        std::vector<double> u(n);
        if (p.dims.size() == 2) {
          state.row.resize(r);
          state.column.resize(c);
          for (double& x : state.row) x *= beta2;
          for (double& x : state.column) x *= beta2;
          for (std::size_t i = 0; i < n; ++i) {
            const double squared = g[i] * g[i] + o.eps1;
            state.row[i / c] += (1 - beta2) * squared / static_cast<double>(c);
            state.column[i % c] += (1 - beta2) * squared / static_cast<double>(r);
          }
          double mean = 0;
          for (const double x : state.row) mean += x / static_cast<double>(r);
          for (std::size_t i = 0; i < n; ++i)
            u[i] = g[i] / std::sqrt(state.row[i / c] * state.column[i % c] / mean);
        } else {
          state.second.resize(n);
          for (std::size_t i = 0; i < n; ++i) {
            state.second[i] = beta2 * state.second[i] + (1 - beta2) * (g[i] * g[i] + o.eps1);
            u[i] = g[i] / std::sqrt(state.second[i]);
          }
        }
        const double clip = std::max(1.0, rms(u.data()) / o.clip_threshold);
        state.first.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
          u[i] *= lr / clip;
          if (o.beta1) u[i] = state.first[i] = *o.beta1 * state.first[i] + (1 - *o.beta1) * u[i];
          if (p.decay) w[i] -= o.weight_decay * lr * w[i];
          w[i] -= u[i];
        }
      },
      83);
  CHECK(largest_difference(f, f.exact, want) <= 2e-5);
  CHECK(f.gaps_untouched());
}

TEST_CASE("adafactor: rows that pad a vocabulary change nothing") {
  const options::AdafactorOptions o = forms()[GENERATE(0u, 3u)];
  GroupFixture padded(matrix_group(64, 33, 7), options::states(o), DType::f32, Master::absent, 89),
      plain(matrix_group(57, 33), options::states(o), DType::f32, Master::absent, 89);
  const auto matrix = [](std::vector<float>& x) { return std::span(x.data(), 57 * 33); };
  std::fill_n(padded.exact.begin(), 64 * 33, 0.0f);
  std::ranges::copy(matrix(plain.exact), padded.exact.begin());
  for (std::int64_t step = 0; step < 20; ++step) {
    plain.new_gradient(static_cast<unsigned>(step));
    std::fill_n(padded.gradient.begin(), padded.used.size(), 0.0f);
    std::ranges::copy(matrix(plain.gradient), padded.gradient.begin());
    const StepScalars s = scalars_of(plain, step);
    make_optimizer(o)->update(plain.memory(), s);
    make_optimizer(o)->update(padded.memory(), s);
  }
  for (std::size_t i = 0; i < 57 * 33; ++i)
    if (!(plain.exact[i] == padded.exact[i])) FAIL("element " << i);
  for (std::size_t i = 57 * 33; i < 64 * 33; ++i)
    if (!(padded.exact[i] == 0)) FAIL("padding " << i);
}

}  // namespace adafactor_test
