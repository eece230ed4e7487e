// Products of experts in fp32, without tensor cores.
#pragma once
#include "kernels/experts/grouped_products.hpp"

namespace trainx::kernels::grouped {

template <Layout left, Layout right, Cut cut>
cudaError_t multiply_fp32(const Products<float, float>& p, cudaStream_t stream);

}  // namespace trainx::kernels::grouped
