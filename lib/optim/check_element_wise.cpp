#include "core/error.hpp"
#include "optim/own_rule.hpp"
#include <algorithm>
#include <cmath>
#include <random>
#include <span>

namespace trainx::optim {
namespace {

constexpr std::size_t elements = 300;

/// Parameters and states after two updates, each in the ranges that begin at `cuts`.
std::vector<std::vector<float>> updated(const OwnRule& rule, const std::vector<std::size_t>& cuts) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> kept(1 + rule.states().size(), std::vector<float>(elements));
  for (float& w : kept[0]) w = 0.1f * normal(random);
  for (std::size_t k = 1; k < kept.size(); ++k)
    std::ranges::fill(kept[k], static_cast<float>(rule.states()[k - 1].initial));
  for (const std::int64_t step : {1, 2}) {
    std::vector<float> gradient(elements);
    for (float& g : gradient) g = normal(random);
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      const std::size_t begin = cuts[c], end = c + 1 < cuts.size() ? cuts[c + 1] : elements;
      const auto part = [&](std::vector<float>& all) {
        return std::span(all).subspan(begin, end - begin);
      };
      std::vector<std::span<float>> states;
      for (std::size_t k = 1; k < kept.size(); ++k) states.push_back(part(kept[k]));
      rule.update({part(kept[0]), part(gradient), states, 1e-3, step, rule.weight_decay()});
    }
  }
  return kept;
}

}  // namespace

void check_element_wise(const OwnRule& rule) {
  constexpr float tolerance = 1e-5f;  // a vector's function may differ from a scalar's in the end
  const auto whole = updated(rule, {0}), cut = updated(rule, {0, 1, 8, 100, 299});
  for (std::size_t k = 0; k < whole.size(); ++k)
    for (std::size_t i = 0; i < elements; ++i) {
      const float a = whole[k][i], b = cut[k][i];
      if (std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), 1e-6f})) continue;
      throw UserError(
          ExitCode::invalid_recipe,
          "optimizer " + rule.name() + ": its rule makes other " +
              (k == 0 ? std::string("weights")
                      : "numbers of its state '" + rule.states()[k - 1].name + "'") +
              " where a range is cut in two; it must compute each element from that element's "
              "numbers alone, because ranks, threads and offload cut parameters into ranges");
    }
}

}  // namespace trainx::optim
