#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/changed_logit_reference.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trainx::kernels {
namespace {

struct Softmax {
  double largest, sum;
};
double widened(double x) { return x; }

template <class T>
Softmax softmax_of(const T* row, std::int64_t classes) {
  Softmax s{-std::numeric_limits<double>::infinity(), 0};
  for (std::int64_t c = 0; c < classes; ++c)
    s.largest = std::max<double>(s.largest, widened(row[c]));
  for (std::int64_t c = 0; c < classes; ++c) s.sum += std::exp(widened(row[c]) - s.largest);
  return s;
}

bool valid(std::int32_t target, std::int64_t classes) { return target >= 0 && target < classes; }

template <class T>
float loss_of(const T* row, const Softmax& s, std::int32_t target, std::int64_t classes) {
  if (!valid(target, classes)) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(std::log(s.sum) - (widened(row[target]) - s.largest));
}

template <class T>
void add_up(const CrossEntropy<T>& op, const LossSums& sums, const PredictionCounts& counts) {
  double loss = 0, targets = 0, correct = 0;
  const std::int64_t classes = op.vocab_size;
  if (counts.confusion && !sums.accumulate) std::fill_n(counts.confusion, classes * classes, 0.0);
  for (std::int64_t r = 0; r < op.rows; ++r) {
    loss += op.row_loss[r];
    if (op.targets[r] == no_target) continue;
    targets += 1;
    if (counts.correct) correct += counts.predictions[r] == op.targets[r];
    if (counts.confusion && valid(op.targets[r], classes))
      counts.confusion[op.targets[r] * classes + counts.predictions[r]] += 1;
  }
  const auto put = [&](double* to, double x) { *to = sums.accumulate ? *to + x : x; };
  put(sums.loss_sum, loss);
  put(sums.target_count, targets);
  if (counts.correct) put(counts.correct, correct);
}

template <class T>
void gradient_rows(const CrossEntropy<T>& op, const LossForm& form, double seed,
                   const LossSums& sums) {
  if (op.loss_scale) seed *= *op.loss_scale;
  std::vector<double> values(static_cast<std::size_t>(op.vocab_size)), slopes(values);
  const double of_each = form.smoothing / static_cast<double>(op.vocab_size);
  for (std::int64_t r = 0; r < op.rows; ++r) {
    T* const row = op.logits + r * op.columns;
    const std::int32_t target = op.targets[r];
    op.row_loss[r] = 0;
    if (target == no_target) {
      std::fill_n(row, op.columns, T{});
      continue;
    }
    double total = 0;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const ExactlyChanged x = exactly_changed(widened(row[c]), form.change);
      values[c] = x.value, slopes[c] = x.slope;
      total += x.value;
    }
    const Softmax s = softmax_of(values.data(), op.vocab_size);
    const double z = std::log(s.sum) + s.largest;
    double loss = loss_of(values.data(), s, target, op.vocab_size);
    if (form.has_terms() && valid(target, op.vocab_size))
      loss = z - (1 - form.smoothing) * values[static_cast<std::size_t>(target)] - of_each * total +
             form.z_loss * z * z;
    op.row_loss[r] = static_cast<float>(loss);
    const double scale = valid(target, op.vocab_size) ? seed * (1 + 2 * form.z_loss * z) / s.sum
                                                      : std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const double own = of_each + (c == target ? 1 - form.smoothing : 0);
      const double g = c < op.vocab_size
                           ? (std::exp(values[i] - s.largest) * scale - own * seed) * slopes[i]
                           : 0;
      narrow(static_cast<float>(g), row[c]);
    }
  }
  add_up(op, sums, {});
}

template <class T>
void loss_rows(const CrossEntropy<T>& op, const LossSums& sums, const PredictionCounts& counts) {
  for (std::int64_t r = 0; r < op.rows; ++r) {
    const T* const row = op.logits + r * op.columns;
    const bool wanted = op.targets[r] != no_target;
    op.row_loss[r] =
        wanted ? loss_of(row, softmax_of(row, op.vocab_size), op.targets[r], op.vocab_size) : 0;
    if (!counts.predictions) continue;
    std::int32_t best = -1;
    for (std::int32_t c = 0; wanted && c < op.vocab_size; ++c)
      if (!std::isnan(widened(row[c])) && (best < 0 || widened(row[c]) > widened(row[best])))
        best = c;
    counts.predictions[r] = std::max(best, 0);
  }
  add_up(op, sums, counts);
}

}  // namespace

template <class T>
void cross_entropy_with_gradient_reference(const CrossEntropy<T>& op, const LossForm& form,
                                           double seed, const LossSums& sums) {
  gradient_rows(op, form, seed, sums);
}
template void cross_entropy_with_gradient_reference(const CrossEntropy<float>&, const LossForm&,
                                                    double, const LossSums&);
template void cross_entropy_with_gradient_reference(const CrossEntropy<Bf16>&, const LossForm&,
                                                    double, const LossSums&);
template void cross_entropy_with_gradient_reference(const CrossEntropy<Fp16>&, const LossForm&,
                                                    double, const LossSums&);
void cross_entropy_reference(const CrossEntropy<float>& op, const LossSums& sums,
                             const PredictionCounts& counts) {
  loss_rows(op, sums, counts);
}
void cross_entropy_reference(const CrossEntropy<Bf16>& op, const LossSums& sums,
                             const PredictionCounts& counts) {
  loss_rows(op, sums, counts);
}
void cross_entropy_reference(const CrossEntropy<Fp16>& op, const LossSums& sums,
                             const PredictionCounts& counts) {
  loss_rows(op, sums, counts);
}

}  // namespace trainx::kernels
