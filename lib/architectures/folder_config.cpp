#include "architectures/folder_config.hpp"

namespace trainx::architectures {

void FolderConfig::finish(const std::string& family, DType saved) {
  config_["model_type"] = family;
  config_[spelled("torch_dtype", "dtype")] = saved == DType::f32 ? "float32" : "bfloat16";
}

}  // namespace trainx::architectures
