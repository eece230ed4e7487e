// Which ranks share a batch and the parts of each layer.
#pragma once
#include "plan/draft.hpp"
#include <string>

namespace trainx::plan {

/// Sets mesh.pipeline, mesh.tensor and mesh.context as parallel.tensor and parallel.context say,
/// which are numbers. Throws UserError 78 where the ranks are no such groups, or the mode has none.
void share_layers(Draft& plan);

/// The number of ranks with a batch of their own, as sentences call it.
std::string batches_factor(const Draft& plan);

/// Which tokens a rank computes; empty where it computes all of its batch.
std::string shared_rows_words(const Draft& plan);

/// What a rank has of a layer, and what it exchanges; empty where it has all.
std::string layers_in_parts_words(const Draft& plan);

}  // namespace trainx::plan
