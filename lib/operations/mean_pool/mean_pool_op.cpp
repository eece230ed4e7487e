#include "operations/mean_pool/mean_pool.hpp"
#include "operations/mean_pool/mean_pool_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void MeanPool::run_forward(const OpContext& c) const {
  if (c.writes(pooled)) mean_pool(by_row(c.output(pooled)), by_row(c.input(x)), c.input(lengths));
}

void MeanPool::run_backward(const OpContext& c) const {
  mean_pool_backward(c.input_gradient(x), c.output_gradient(pooled), c.input(lengths));
}

}  // namespace trainx::operations
