#include "kernels/loss/logit_sums.hpp"
#include "kernels/loss/changed_logit_reference.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/part_loss_row.hpp"
#include <cmath>
#include <limits>

namespace trainx::kernels {
namespace {

using N = LogitNumber;

double read(float x) { return x; }
template <class T>
double read(T x) {
  return widened(x);
}
void write(float& to, double x) { to = static_cast<float>(x); }
template <class T>
void write(T& to, double x) {
  narrow(static_cast<float>(x), to);
}

}  // namespace

template <class T>
void logit_sums_reference(const LogitSums<T>& op, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T* const row = op.logits + r * op.columns;
    float* const to = op.numbers + r * N::count;
    double most = -std::numeric_limits<double>::infinity(), sum = 0, all = 0;
    std::int64_t first_of_most = 0;
    for (std::int64_t c = 0; c < op.classes; ++c) {
      const double x = exactly_changed(read(row[c]), op.change).value;
      if (x > most) {
        sum = sum * std::exp(most - x) + 1;
        most = x;
        first_of_most = c;
      } else {
        sum += std::exp(x - most);
      }
      all += x;
    }
    const std::int64_t target = op.targets[r] - op.first;
    to[N::largest] = static_cast<float>(most);
    // beside what `largest` is rounded to
    to[N::exponentials] =
        op.classes > 0 ? static_cast<float>(sum * std::exp(most - double{to[N::largest]})) : 0.0F;
    to[N::at_target] = target >= 0 && target < op.classes
                           ? static_cast<float>(exactly_changed(read(row[target]), op.change).value)
                           : 0.0F;
    to[N::total] = static_cast<float>(all);
    to[N::best] = static_cast<float>(op.first + first_of_most);
  }
}

template <class T>
void logit_sums_gradient_reference(const LogitSumsGradient<T>& op, std::int64_t begin,
                                   std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T* const row = op.of.logits + r * op.of.columns;
    T* const to = op.gradient + r * op.of.columns;
    const float *const numbers = op.of.numbers + r * N::count, *const d = op.d_numbers +
                                                                          r * N::count;
    const std::int64_t target = op.of.targets[r] - op.of.first;
    for (std::int64_t c = 0; c < op.of.columns; ++c) {
      if (c >= op.of.classes || op.of.targets[r] == no_target) {
        to[c] = T{};
        continue;
      }
      const ExactlyChanged x = exactly_changed(read(row[c]), op.of.change);
      const double of_sum = d[N::exponentials] * std::exp(x.value - numbers[N::largest]),
                   of_target = c == target ? d[N::at_target] : 0;
      write(to[c], (of_sum + of_target + d[N::total]) * x.slope);
    }
  }
}

void part_loss_reference(const PartLoss& op, const PartLossSums& sums) {
  double loss = 0, targets = 0, correct = 0;
  for (std::int64_t r = 0; r < op.rows; ++r) {
    if (op.targets[r] == no_target) continue;
    const PartLossRow row = part_loss_row(op, r);
    loss += row.loss;
    targets += 1;
    correct += row.best == op.targets[r];
  }
  const auto put = [&](double* to, double x) {
    if (to) *to = sums.accumulate ? *to + x : x;
  };
  put(sums.loss_sum, loss);
  put(sums.target_count, targets);
  put(sums.correct, correct);
}

void part_loss_gradient_reference(const PartLossGradient& op) {
  const double seed = op.loss_scale ? op.seed * *op.loss_scale : op.seed;
  for (std::int64_t r = 0; r < op.of.rows; ++r) part_loss_gradient_row(op, r, seed);
}

template void logit_sums_reference(const LogitSums<float>&, std::int64_t, std::int64_t);
template void logit_sums_reference(const LogitSums<Bf16>&, std::int64_t, std::int64_t);
template void logit_sums_reference(const LogitSums<Fp16>&, std::int64_t, std::int64_t);
template void logit_sums_gradient_reference(const LogitSumsGradient<float>&, std::int64_t,
                                            std::int64_t);
template void logit_sums_gradient_reference(const LogitSumsGradient<Bf16>&, std::int64_t,
                                            std::int64_t);
template void logit_sums_gradient_reference(const LogitSumsGradient<Fp16>&, std::int64_t,
                                            std::int64_t);

}  // namespace trainx::kernels
