#pragma once
#include "graph/builder.hpp"
#include "architectures/machine.hpp"

namespace trainx::architectures {

/// Options of a builder for a micro-batch on that machine.
graph::BuilderOptions builder_options(std::int64_t micro_batch_size, std::int64_t length,
                                      DType compute, const Machine& machine);

/// All rows, as many at a time as keep a GPU busy, or as a CPU's caches hold.
graph::Head all_rows(const graph::ModelBuilder& m, std::int64_t columns);
/// Rows with a target, of which each has one with `probability`.
graph::Head rows_with_targets(const graph::ModelBuilder& m, std::int64_t columns,
                              double probability);
/// The first row of each sample.
graph::Head first_rows(const graph::ModelBuilder& m);

/// The model's blocks, fused, with what libraries allocate beside them.
program::ModelGraph compose(graph::Model model, const Machine& machine);

}  // namespace trainx::architectures
