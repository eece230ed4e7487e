#pragma once
#include "checkpoint/checkpoint.hpp"
#include "train/ranks.hpp"

namespace trainx::train {

/// Writes checkpoint-<step> of what lies in shards: all ranks call it, each writes its share of the tensors, rank 0 the rest, and it alone renames the folder when all is on disk. `store`: rank 0's,
/// null elsewhere. Returns the folder. Where any of them cannot write, all throw the same UserError 74, nothing is left of it and older checkpoints stay.
std::string save_together(const Ranks& ranks, checkpoint::Store* store, std::int64_t step, const checkpoint::Contents& contents, std::int64_t keep_last, bool is_best);

}  // namespace trainx::train
