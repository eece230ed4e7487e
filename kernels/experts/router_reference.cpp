#include "kernels/experts/router.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace trainx::kernels {
namespace {

using Doubles = std::vector<double>;

constexpr double least_divisor = 1e-20;

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

Doubles token_row(const float* x, std::int64_t row, std::int64_t columns) {
  return {x + row * columns, x + (row + 1) * columns};
}

void softmax_in_place(Doubles& v) {
  const double largest = *std::max_element(v.begin(), v.end());
  double sum = 0;
  for (double& x : v) sum += x = std::exp(x - largest);
  for (double& x : v) x /= sum;
}

float choice_key(float x) { return std::isnan(x) ? std::numeric_limits<float>::infinity() : x; }

/// The k first by key, the lower of equals first.
std::vector<int> best_of(const std::vector<float>& keys, const std::vector<char>& allowed, int k) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(keys.size()); ++i)
    if (allowed[place(i)]) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return keys[place(a)] > keys[place(b)]; });
  order.resize(place(k));
  return order;
}

std::vector<int> chosen_by(const RouterForm& f, const std::vector<float>& keys) {
  std::vector<char> allowed(place(f.experts), 1);
  if (f.groups > 1) {
    const int each = f.experts / f.groups;
    std::vector<float> of_groups;
    for (int g = 0; g < f.groups; ++g) {
      std::vector<float> of(keys.begin() + g * each, keys.begin() + (g + 1) * each);
      std::sort(of.rbegin(), of.rend());
      const float second = of.size() > 1 ? of[1] : -std::numeric_limits<float>::infinity();
      of_groups.push_back(choice_key(f.two_largest ? of[0] + second : of[0]));
    }
    std::fill(allowed.begin(), allowed.end(), 0);
    for (const int g : best_of(of_groups, std::vector<char>(place(f.groups), 1), f.kept_groups))
      std::fill_n(allowed.begin() + g * each, each, 1);
  }
  return best_of(keys, allowed, f.per_token);
}

Doubles values_of(const RouterForm& f, const Doubles& scores, const std::vector<int>& chosen) {
  Doubles values;
  for (const int e : chosen) values.push_back(scores[place(e)]);
  if (f.score == RouterScore::chosen_softmax) softmax_in_place(values);
  return values;
}

}  // namespace

template <class T>
void router_scores_reference(const RouterScores<T>& op) {
  const int E = op.form.experts;
  for (std::int64_t n = 0; n < op.tokens; ++n) {
    Doubles row = token_row(op.scores, n, E);
    for (int e = 0; op.bias && e < E; ++e)
      row[place(e)] = static_cast<double>(op.scores[n * E + e] + widened(op.bias[e]));
    if (op.log_sums) {
      const double largest = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (const double x : row) sum += std::exp(x - largest);
      op.log_sums[n] = static_cast<float>(largest + std::log(sum));
    }
    if (op.form.score == RouterScore::softmax) softmax_in_place(row);
    if (op.form.score == RouterScore::sigmoid)
      for (double& x : row) x = 1 / (1 + std::exp(-x));
    for (int e = 0; e < E; ++e) op.scores[n * E + e] = static_cast<float>(row[place(e)]);
  }
}

void router_z_reference(const RouterZ& op) {
  double sum = 0;
  for (std::int64_t n = 0; n < op.tokens; ++n)
    sum += static_cast<double>(op.log_sums[n]) * static_cast<double>(op.log_sums[n]);
  *op.z = static_cast<float>(sum) + (op.before ? *op.before : 0);
}

template <class T>
void choose_experts_reference(const ChooseExperts<T>& op) {
  const RouterForm& f = op.form;
  for (std::int64_t n = 0; n < op.tokens; ++n) {
    std::vector<float> keys;
    for (int e = 0; e < f.experts; ++e)
      keys.push_back(choice_key(op.scores[n * f.experts + e] +
                                (op.correction ? widened(op.correction[e]) : 0)));
    const std::vector<int> chosen = chosen_by(f, keys);
    const Doubles values = values_of(f, token_row(op.scores, n, f.experts), chosen);
    const double sum = f.normalized ? std::accumulate(values.begin(), values.end(), least_divisor)
                                    : 1.0;
    for (int j = 0; j < f.per_token; ++j) {
      if (op.indices) op.indices[n * f.per_token + j] = chosen[place(j)];
      if (op.weights)
        op.weights[n * f.per_token + j] =
            static_cast<float>(values[place(j)] / sum * static_cast<double>(f.scale));
    }
  }
}

void balance_experts_reference(const BalanceExperts& op) {
  const RouterForm& f = op.form;
  Doubles sums(place(2 * f.experts));
  for (std::int64_t n = 0; n < op.tokens; ++n) {
    Doubles share = token_row(op.scores, n, f.experts);
    if (f.score == RouterScore::chosen_softmax) softmax_in_place(share);
    for (int e = 0; e < f.experts; ++e) sums[place(f.experts + e)] += share[place(e)];
    for (int j = 0; j < f.per_token; ++j) ++sums[place(op.indices[n * f.per_token + j])];
  }
  for (int i = 0; i < 2 * f.experts; ++i)
    op.balanced[i] = static_cast<float>(sums[place(i)]) + (op.before ? op.before[i] : 0);
}

template <class T>
void router_backward_reference(const RouterBackward<T>& op) {
  const RouterForm& f = op.form;
  const int k = f.per_token;
  const bool of_all = f.score == RouterScore::softmax;
  for (std::int64_t n = 0; n < op.tokens; ++n) {
    const Doubles scores = token_row(op.scores, n, f.experts);
    const std::vector<int> chosen(op.indices + n * k, op.indices + (n + 1) * k);
    const Doubles values = values_of(f, scores, chosen);
    Doubles d(place(k));
    for (int j = 0; j < k; ++j)
      d[place(j)] = static_cast<double>(f.scale) * static_cast<double>(op.d_weights[n * k + j]);
    const auto along = [&](const Doubles& with) {
      double sum = 0;
      for (int j = 0; j < k; ++j) sum += d[place(j)] * with[place(j)];
      return sum;
    };
    if (f.normalized) {
      const double sum = std::accumulate(values.begin(), values.end(), least_divisor),
                   common = along(values) / sum;
      for (double& x : d) x = (x - common) / sum;
    }
    if (f.score == RouterScore::chosen_softmax) {
      const double common = along(values);
      for (int j = 0; j < k; ++j) d[place(j)] = values[place(j)] * (d[place(j)] - common);
    }
    Doubles share = scores, slope(place(f.experts));
    if (!of_all) softmax_in_place(share);
    for (int e = 0; op.d_balanced && e < f.experts; ++e)
      slope[place(e)] = static_cast<double>(op.d_balanced[f.experts + e]);
    if (of_all)
      for (int j = 0; j < k; ++j) slope[place(chosen[place(j)])] += d[place(j)];
    double common = 0;
    for (int e = 0; e < f.experts; ++e) common += slope[place(e)] * share[place(e)];
    Doubles out(place(f.experts));
    for (int e = 0; e < f.experts; ++e)
      if (of_all || op.d_balanced) out[place(e)] = share[place(e)] * (slope[place(e)] - common);
    for (int j = 0; !of_all && j < k; ++j) {
      const double s = scores[place(chosen[place(j)])];
      out[place(chosen[place(j)])] += d[place(j)] *
                                      (f.score == RouterScore::sigmoid ? s * (1 - s) : 1);
    }
    for (int e = 0; op.d_z && e < f.experts; ++e) {
      const auto log_sum = static_cast<double>(op.log_sums[n]);
      const double part = of_all ? scores[place(e)] : std::exp(scores[place(e)] - log_sum);
      out[place(e)] += 2 * static_cast<double>(*op.d_z) * log_sum * part;
    }
    for (int e = 0; e < f.experts; ++e)
      op.d_logits[n * f.experts + e] = static_cast<float>(out[place(e)]);
  }
}

#define TRAINX_ROUTER(T)                                           \
  template void router_scores_reference(const RouterScores<T>&);   \
  template void choose_experts_reference(const ChooseExperts<T>&); \
  template void router_backward_reference(const RouterBackward<T>&);
TRAINX_ROUTER(float)
TRAINX_ROUTER(Bf16)
TRAINX_ROUTER(Fp16)
#undef TRAINX_ROUTER

}  // namespace trainx::kernels
