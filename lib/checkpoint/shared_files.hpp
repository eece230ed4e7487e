// Files of a checkpoint that several ranks write together.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_writer.hpp"

namespace trainx::checkpoint {

/// Each rank writes its share of the tensors of each file, as a shard that an index names, as in a
/// Hugging Face folder: model-00001-of-00002.safetensors. Called by all ranks, each with the same
/// tensors: prepares all of them in one order, and returns by name what this rank has written into
/// `folder`. What it could not write throws UserError 74 only when the last tensor is prepared, so
/// that no rank waits for another.
std::map<std::string, WrittenFile> write_shared(const std::string& folder, const Contents& contents,
                                                int rank, int world_size);
/// The same in two halves, so that the second may run beside training. First what all ranks do
/// together: this rank's share, by the names of its files, with its bytes in memory.
using Share = std::map<std::string, std::vector<TensorSource>>;
Share gather_share(const Contents& contents, int rank, int world_size);
/// Then writes it into `folder`. Throws UserError 74.
std::map<std::string, WrittenFile> write_share(const std::string& folder, const Share& share);
/// The indices of those shards, by name.
std::map<std::string, std::string> shared_indices(const Contents& contents, int world_size);

}  // namespace trainx::checkpoint
