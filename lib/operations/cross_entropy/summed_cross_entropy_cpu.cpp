#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/common/element.hpp"
#include "operations/cross_entropy/changed_row.hpp"
#include "operations/cross_entropy/cross_entropy_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace trainx::operations {
namespace {

void add_sums(const LossTo& to, const std::int32_t* targets) {
  const auto* row_loss = to.row_loss.as<const float>();
  double sum = 0, count = 0;
  for (std::int64_t r = 0; r < to.row_loss.size(0); ++r) {
    sum += row_loss[r];
    count += targets[r] != no_target;
  }
  auto add = [&](const Tensor& scalar, double amount) {
    auto* x = scalar.as<double>();
    *x = (to.accumulate ? *x : 0.0) + amount;
  };
  add(to.loss_sum, sum);
  add(to.target_count, count);
}

void count(const Scores& scores, const Tensor& logits, const std::int32_t* targets,
           std::int64_t vocab_size, bool accumulate) {
  auto* const confusion = scores.confusion.defined() ? data<double>(scores.confusion) : nullptr;
  if (confusion && !accumulate) std::fill_n(confusion, vocab_size * vocab_size, 0.0);
  double correct = 0;
  for (std::int64_t r = 0; r < logits.size(0); ++r) {
    const float* const row = data<float>(logits) + r * logits.size(1);
    const auto best = static_cast<std::int32_t>(std::max_element(row, row + vocab_size) - row);
    data<std::int32_t>(scores.predictions)[r] = best;
    if (targets[r] == no_target) continue;
    correct += best == targets[r];
    if (confusion) ++confusion[targets[r] * vocab_size + best];
  }
  if (scores.correct.defined())
    *data<double>(scores.correct) = (accumulate ? *data<double>(scores.correct) : 0.0) + correct;
}

}  // namespace

void cpu::summed_cross_entropy(const LossTo& to, const Tensor& logits, const std::int32_t* targets,
                               std::int64_t vocab_size) {
  const TimedWork timed(Work::loss);
  cross_entropy(to.row_loss, logits, targets, vocab_size);
  add_sums(to, targets);
}

void cpu::scored_cross_entropy(const LossTo& to, const Scores& scores, const Tensor& logits,
                               const std::int32_t* targets, std::int64_t vocab_size) {
  const TimedWork timed(Work::loss);
  cpu::summed_cross_entropy(to, logits, targets, vocab_size);
  count(scores, logits, targets, vocab_size, to.accumulate);
}

void cpu::summed_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                             const std::int32_t* targets, std::int64_t vocab_size,
                                             LossSeed seed, const LossForm& form) {
  const TimedWork timed(Work::loss);
  cross_entropy_with_gradient(to.row_loss, logits, targets, vocab_size,
                              seed.scale ? seed.factor * *seed.scale : seed.factor, form);
  add_sums(to, targets);
}

void cpu::change_logits(const Tensor& logits, std::int64_t vocab_size, const LogitChange& change) {
  const TimedWork timed(Work::loss);
  const std::int64_t width = logits.size(1);
  tensor::parallel_for(0, logits.size(0), row_grain(width),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t r = begin; r < end; ++r)
                           change_row(data<float>(logits) + r * width, nullptr, vocab_size, change);
                       });
}

}  // namespace trainx::operations
