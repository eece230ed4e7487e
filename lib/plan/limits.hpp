// Sizes that no plan is made for. Real runs end far below them.
#pragma once
#include "plan/run_plan.hpp"
#include "architectures/limits.hpp"
#include <cstdint>

namespace trainx::plan {

/// Of a custom model: its modules.
std::int64_t layers_of(const architectures::ModelDims& dims);

/// With separators: "62,500,000".
std::string with_commas(std::int64_t n);

/// The exact product. Throws UserError 78 that names `what` where 64 bits do not hold it.
std::int64_t checked_product(std::int64_t a, std::int64_t b, const std::string& what);

using architectures::most_layers;
// what levers save is told of models that are no deeper: each is planned whole once more
constexpr std::int64_t most_compared_layers = 64;
// of deeper models trainx tells no alternatives and no needless levers, and chooses for those whose
// layers repeat (is_searchable): others are weighed whole again and again
constexpr std::int64_t most_searched_layers = 256;
constexpr std::int64_t most_repeated_layers = 512;  // of models whose layers repeat
constexpr std::int64_t largest_dimension = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t most_micro_steps = 1 << 16;
// of a step: forward and backward of each block
constexpr std::int64_t most_block_operations = 1 << 20;
constexpr std::int64_t most_row_lengths = 64;
constexpr std::int64_t most_table_steps = 10'000'000;  // whose learning rates a table holds
constexpr std::int64_t most_dp_ranks = 64;
// of all groups, whose states are laid out rank by rank
constexpr std::int64_t most_laid_out_shards = 1 << 17;
// layers recomputed together: the root of most_layers
constexpr std::int64_t most_segment = 32;

/// Throws UserError 78 unless the dimensions can be planned: by arithmetic, before anything is
/// built. Needs plan.dims, batch, mode and row_lengths.
void require_plannable(const Draft& plan);
/// Throws UserError 78 unless a step of so many micro-steps can be planned.
void require_plannable_micro_steps(const Draft& plan, std::int64_t micro_steps);
/// Most micro-steps that a step of this model can have.
std::int64_t most_micro_steps_of(const Draft& plan);
/// The sizes that divide so many samples, that can be planned and that ranks can share, ascending.
std::vector<std::int64_t> plannable_micro_batch_sizes(const Draft& plan, std::int64_t samples);
/// Have ranks that share a batch equal rows of its micro-batches? The passes over the graph know.
bool ranks_can_share(const Draft& plan);
/// The smallest of these sizes that divides the plan's samples; one sample, where ranks share none.
std::int64_t smallest_micro_batch(const Draft& plan);
/// Throws UserError 78 where the schedule's table would be too long.
void require_plannable_table(std::int64_t steps, const std::string& key);

}  // namespace trainx::plan
