#pragma once
#include "checkpoint/checkpoint.hpp"
#include <memory>

namespace trainx::checkpoint {

/// model.safetensors, or shards and their index.
bool has_weights(const std::string& folder);

/// The weights of a Hugging Face folder by name, in one file or in shards, or other tensors that
/// lie there likewise (`stem`: "optimizer"). A folder with both is read as transformers does: the
/// one file. Strict: shards hold exactly the tensors that the index says. Throws UserError 65
/// naming file and tensor; 66 when there are no weights or a shard is missing.
class WeightsFolder {
 public:
  struct Tensor {
    const TensorEntry* entry = nullptr;
    std::string file;  // its path, for sentences
  };
  explicit WeightsFolder(const std::string& folder, const std::string& stem = "model");
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  void open_shards(const std::string& folder, const std::string& index_file);

  std::map<std::string, std::unique_ptr<SafetensorsReader>> files_;  // by path
  std::map<std::string, Tensor> tensors_;
};

}  // namespace trainx::checkpoint
