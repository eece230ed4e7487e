#pragma once
#include "architectures/custom.hpp"
#include "model/custom/measured_device.hpp"
#include <cstdint>

namespace trainx::model::custom {

/// Builds the model and computes a micro-batch forward and backward on `device`, counting what is
/// allocated beside operands. `threads`: of a CPU. Throws UserError 78 with a sentence for what
/// trainx cannot train.
architectures::CustomShape measure_model(const architectures::CustomDims& dims,
                                         std::int64_t micro_batch_size, std::int64_t length,
                                         DType compute, std::int64_t threads,
                                         MeasuredDevice& device);

}  // namespace trainx::model::custom
