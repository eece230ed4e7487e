// Where workers find LibTorch if it is not beside them: TRAINX_TORCH_DIR.
#pragma once
#include <string>

namespace trainx::launch {

/// LD_LIBRARY_PATH with the libraries of the wheel `torch` (site-packages/torch) in front of
/// `before`.
std::string library_path(const std::string& torch, const std::string& before);
/// Sets LD_LIBRARY_PATH for the workers that this process starts. An empty `torch` changes nothing.
void use_torch_folder(const std::string& torch);

}  // namespace trainx::launch
