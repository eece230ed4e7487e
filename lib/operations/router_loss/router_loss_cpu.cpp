#include "operations/common/timed_work.hpp"
#include "operations/router_loss/router_loss.hpp"

namespace trainx::operations {

namespace {

/// What the product of a count and a sum is multiplied with.
double factor_of(const RouterLoss& l) {
  const auto rows = static_cast<double>(l.rows);
  return l.scale * static_cast<double>(l.experts) / (rows * rows);
}

}  // namespace

void add_router_loss(const RouterLoss& l, const Tensor& loss_sum, const Tensor& balance,
                     double times) {
  const TimedWork timed(Work::loss);
  const auto* const counts = balance.as<const float>();
  double sum = 0;
  for (std::int64_t e = 0; e < l.experts; ++e)
    sum += static_cast<double>(counts[e]) * static_cast<double>(counts[l.experts + e]);
  *loss_sum.as<double>() += times * factor_of(l) * sum;
}

void router_loss_backward(const RouterLoss& l, const Tensor& d_balance, const Tensor& balance,
                          double seed) {
  const TimedWork timed(Work::loss);
  const auto* const counts = balance.as<const float>();
  auto* const to = d_balance.as<float>();
  for (std::int64_t e = 0; e < l.experts; ++e) {
    to[e] = 0;
    to[l.experts + e] = static_cast<float>(seed * factor_of(l) * static_cast<double>(counts[e]));
  }
}

}  // namespace trainx::operations
