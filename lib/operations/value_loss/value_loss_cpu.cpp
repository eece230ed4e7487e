#include "operations/value_loss/value_loss_backends.hpp"
#include "core/error.hpp"
#include "kernels/loss/value_loss.hpp"
#include "operations/common/timed_work.hpp"
#include <cmath>

namespace trainx::operations::cpu {
namespace {

/// Without a seed logits stay.
void rows(ValueLossKind kind, const LossTo& to, const Tensor& logits, const Tensor& targets,
          const double* seed) {
  const TimedWork timed(Work::loss);
  if (logits.dims != targets.dims) throw InternalError("value_loss: targets of another shape");
  const std::int64_t columns = logits.size(1);
  double sum = 0, count = 0;
  for (std::int64_t r = 0; r < logits.size(0); ++r) {
    auto* const x = logits.as<float>() + r * columns;
    const auto* const wanted = targets.as<const float>() + r * columns;
    const bool has_target = !std::isnan(wanted[0]);
    double loss = 0;
    for (std::int64_t k = 0; k < columns; ++k) {
      const kernels::ValueLossAt l =
          has_target ? kernels::value_loss_at(kind == ValueLossKind::binary, x[k], wanted[k])
                     : kernels::ValueLossAt{0, 0};
      loss += l.loss;
      if (seed) x[k] = static_cast<float>(l.slope / static_cast<double>(columns) * *seed);
    }
    sum += loss / static_cast<double>(columns);
    count += has_target;
  }
  const auto add = [&](const Tensor& scalar, double amount) {
    auto* const at = scalar.as<double>();
    *at = (to.accumulate ? *at : 0.0) + amount;
  };
  add(to.loss_sum, sum);
  add(to.target_count, count);
}

}  // namespace

void value_loss(ValueLossKind kind, const LossTo& to, const Tensor& logits, const Tensor& targets) {
  rows(kind, to, logits, targets, nullptr);
}

void value_loss_with_gradient(ValueLossKind kind, const LossTo& to, const Tensor& logits,
                              const Tensor& targets, LossSeed seed) {
  const double factor = seed.scale ? seed.factor * *seed.scale : seed.factor;
  rows(kind, to, logits, targets, &factor);
}

}  // namespace trainx::operations::cpu
