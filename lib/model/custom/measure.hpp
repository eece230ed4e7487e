#pragma once
#include "architectures/custom.hpp"
#include <cstdint>

namespace trainx::model::custom {

/// Builds the model and computes a micro-batch forward and backward, counting what is allocated
/// beside operands; the allocator's meter must be installed. Throws UserError 78 with a sentence
/// for what trainx cannot train.
architectures::CustomShape measure_model(const architectures::CustomDims& dims,
                                         std::int64_t micro_batch_size, std::int64_t length,
                                         DType compute, std::int64_t threads);

}  // namespace trainx::model::custom
