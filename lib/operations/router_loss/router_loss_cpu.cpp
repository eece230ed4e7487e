#include "operations/common/timed_work.hpp"
#include "operations/router_loss/router_loss_backends.hpp"
#include <algorithm>

namespace trainx::operations {

namespace {

double targets_in(const Tensor& targets) {
  const auto* const t = targets.as<const std::int32_t>();
  return static_cast<double>(
      std::count_if(t, t + targets.numel(), [](std::int32_t id) { return id >= 0; }));
}

double of_all(const RouterLoss& l, const Tensor& balance, std::int64_t entry) {
  double sum = 0;
  for (std::int64_t rank = 0; rank < l.ranks; ++rank)
    sum += static_cast<double>(balance.as<const float>()[rank * 2 * l.experts + entry]);
  return sum;
}

}  // namespace

void cpu::add_router_loss(const RouterLoss& l, const Tensor& loss_sum, const Tensor& balance,
                          const Tensor& targets) {
  const TimedWork timed(Work::loss);
  double sum = 0;
  for (std::int64_t e = 0; e < l.experts; ++e)
    sum += of_all(l, balance, e) * of_all(l, balance, l.experts + e);
  *loss_sum.as<double>() += targets_in(targets) * factor_of(l) * sum;
}

void cpu::router_loss_backward(const RouterLoss& l, const Tensor& d_balance, const Tensor& balance,
                               const Tensor& targets, LossSeed seed) {
  const TimedWork timed(Work::loss);
  auto* const to = d_balance.as<float>();
  const double all = targets_in(targets) * (seed.factor * (seed.scale ? *seed.scale : 1));
  for (std::int64_t e = 0; e < l.experts; ++e) {
    to[e] = 0;
    to[l.experts + e] = static_cast<float>(all * factor_of(l) * of_all(l, balance, e));
  }
}

}  // namespace trainx::operations
