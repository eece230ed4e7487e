#pragma once
#include "checkpoint/checkpoint.hpp"

namespace trainx::checkpoint {

/// What was put on disk, for the manifest.
struct WrittenFile {
  std::int64_t bytes = 0;
  std::string hash;
};
/// write_safetensors, with size and hash taken on the way; the caller fsyncs the folder.
WrittenFile write_safetensors_file(const std::string& path, const std::vector<TensorSource>& tensors, const std::map<std::string, std::string>& metadata);

}  // namespace trainx::checkpoint
