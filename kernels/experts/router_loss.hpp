#pragma once
#include "kernels/cuda_types.hpp"
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels {

/// The loss that keeps experts evenly busy, of balance[2, E]: factor times the sum over experts of
/// their counts times their sums of scores, as often as there are targets (those from 0 on).
struct RouterLoss {
  int experts = 1;
  double factor = 0;
  const float* balance = nullptr;
  const std::int32_t* targets = nullptr;
  std::int64_t rows = 0;  // of targets
  int ranks = 1;          // whose balances follow one another, and are added up

  TRAINX_HOST_DEVICE double of_all(int entry) const {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
      sum += static_cast<double>(balance[rank * 2 * experts + entry]);
    return sum;
  }
};

/// The loss that keeps logits of routers small, of z[1]: factor times z, as often as there are
/// targets.
struct RouterZLoss {
  double factor = 0;
  const float* z = nullptr;
  const std::int32_t* targets = nullptr;
  std::int64_t rows = 0;  // of targets
  int ranks = 1;          // whose z follow one another, and are added up

  TRAINX_HOST_DEVICE double of_all() const {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += static_cast<double>(z[rank]);
    return sum;
  }
};

/// *loss_sum += the loss.
void router_loss_reference(const RouterLoss& op, double* loss_sum);
/// d_balance[2, E] of one rank, of the loss times `seed`, times *scale where it is not null; of
/// counts it is 0.
void router_loss_backward_reference(const RouterLoss& op, float* d_balance, double seed,
                                    const double* scale);
void router_z_loss_reference(const RouterZLoss& op, double* loss_sum);
/// d_z[1], likewise; `z` does not matter.
void router_z_loss_backward_reference(const RouterZLoss& op, float* d_z, double seed,
                                      const double* scale);
#if __has_include(<cuda_runtime_api.h>)
/// One block, asynchronous on `stream`; returns the status of the launch. In double precision, in
/// one order.
cudaError_t router_loss(const RouterLoss& op, double* loss_sum, cudaStream_t stream);
cudaError_t router_loss_backward(const RouterLoss& op, float* d_balance, double seed,
                                 const double* scale, cudaStream_t stream);
cudaError_t router_z_loss(const RouterZLoss& op, double* loss_sum, cudaStream_t stream);
cudaError_t router_z_loss_backward(const RouterZLoss& op, float* d_z, double seed,
                                   const double* scale, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
