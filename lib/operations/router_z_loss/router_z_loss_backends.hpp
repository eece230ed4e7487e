// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/router_z_loss/router_z_loss.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void add_router_z_loss(const RouterZLoss& l, const Tensor& loss_sum, const Tensor& z,
                       const Tensor& targets);
void router_z_loss_backward(const RouterZLoss& l, const Tensor& d_z, const Tensor& targets,
                            LossSeed seed);
}  // namespace cpu

namespace cuda {
void add_router_z_loss(const Gpu& gpu, const RouterZLoss& l, const Tensor& loss_sum,
                       const Tensor& z, const Tensor& targets);
void router_z_loss_backward(const Gpu& gpu, const RouterZLoss& l, const Tensor& d_z,
                            const Tensor& targets, LossSeed seed);
}  // namespace cuda

}  // namespace trainx::operations
