#include "kernels/experts/router_loss.hpp"

namespace trainx::kernels {
namespace {

double targets_in(const std::int32_t* targets, std::int64_t rows) {
  double count = 0;
  for (std::int64_t r = 0; r < rows; ++r) count += targets[r] >= 0;
  return count;
}

}  // namespace

void router_loss_reference(const RouterLoss& op, double* loss_sum) {
  double sum = 0;
  for (int e = 0; e < op.experts; ++e) sum += op.of_all(e) * op.of_all(op.experts + e);
  *loss_sum += targets_in(op.targets, op.rows) * op.factor * sum;
}

void router_loss_backward_reference(const RouterLoss& op, float* d_balance, double seed,
                                    const double* scale) {
  const double all = targets_in(op.targets, op.rows) * seed * (scale ? *scale : 1) * op.factor;
  for (int e = 0; e < op.experts; ++e) {
    d_balance[e] = 0;
    d_balance[op.experts + e] = static_cast<float>(all * op.of_all(e));
  }
}

void router_z_loss_reference(const RouterZLoss& op, double* loss_sum) {
  *loss_sum += targets_in(op.targets, op.rows) * op.factor * op.of_all();
}

void router_z_loss_backward_reference(const RouterZLoss& op, float* d_z, double seed,
                                      const double* scale) {
  *d_z =
      static_cast<float>(targets_in(op.targets, op.rows) * seed * (scale ? *scale : 1) * op.factor);
}

}  // namespace trainx::kernels
