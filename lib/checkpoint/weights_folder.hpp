#pragma once
#include "checkpoint/checkpoint.hpp"
#include <functional>
#include <memory>
#include <string>

namespace trainx::checkpoint {

/// model.safetensors, or shards and their index.
bool has_weights(const std::string& folder);

/// The weights of a Hugging Face folder by name, in one file or in shards, or other tensors that
/// lie there likewise (`stem`: "optimizer"). A folder with both is read as transformers does: the
/// one file, and masks of older folders may have any type. Strict: shards hold exactly the tensors
/// that the index says. Throws UserError 65 naming file and tensor; 66 when there are no weights or
/// a shard is missing.
class WeightsFolder {
 public:
  struct Tensor {
    const TensorEntry* entry = nullptr;
    std::string file;  // its path, for sentences
  };
  explicit WeightsFolder(const std::string& folder, const std::string& stem = "model");
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  /// Tensors whose elements trainx does not read are not among tensors(). Throws UserError 65 if
  /// one of them is a parameter.
  void require_read(const std::function<bool(const std::string& name)>& is_parameter) const;

 private:
  const SafetensorsReader& open(const std::string& path);
  void open_shards(const std::string& folder, const std::string& index_file);

  UnreadTensors kept_;
  std::map<std::string, std::unique_ptr<SafetensorsReader>> files_;  // by path
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, const SafetensorsReader*> unread_;
};

}  // namespace trainx::checkpoint
