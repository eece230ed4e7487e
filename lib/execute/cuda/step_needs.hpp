#pragma once
#include "data/loader.hpp"
#include "operations/common/batch_needs.hpp"
#include "program/model_graph.hpp"

namespace trainx::execute {

/// What the batches of a step need together: `needs` (of a step without batches: not padded, no
/// rows) and those of one more batch.
operations::BatchNeeds with_batch(operations::BatchNeeds needs, const data::BatchView& batch,
                                  const program::ModelGraph& graph);

}  // namespace trainx::execute
