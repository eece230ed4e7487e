#pragma once
#include "checkpoint/checkpoint.hpp"
#include <cstdint>

namespace trainx::checkpoint {

/// A model for others to load: weights in model.safetensors or, beyond `max_shard_bytes`, in shards
/// with an index, and its texts (config.json, tokenizer files).
struct ModelFolder {
  std::vector<TensorSource> tensors;
  std::map<std::string, std::string> text_files;
  std::int64_t max_shard_bytes = 0;
  std::string stem = "model";  // of the files of weights
};

/// Cut in order, as transformers does: a shard is full when the next tensor would not fit; a tensor
/// larger than a shard has one of its own.
std::vector<std::vector<TensorSource>> cut_into_shards(const std::vector<TensorSource>& tensors,
                                                       std::int64_t max_shard_bytes);

/// Beside them goes a manifest with sizes and hashes, as in a checkpoint. Writes aside, fsyncs,
/// renames once: `path` is there whole or not at all. Returns the names of the files. Throws
/// UserError: 73 `path` is a file or a folder that is not empty, or cannot be made; 74 writing
/// failed.
std::vector<std::string> write_model_folder(const std::string& path, const ModelFolder& model);

}  // namespace trainx::checkpoint
