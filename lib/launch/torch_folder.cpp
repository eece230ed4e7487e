#include "launch/torch_folder.hpp"
#include "core/process.hpp"
#include <cstdlib>
#include <filesystem>

namespace trainx::launch {

std::string library_path(const std::string& torch, const std::string& before) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(torch).lexically_normal();
  const fs::path site = (folder.filename().empty() ? folder.parent_path() : folder).parent_path();
  std::string path = (folder / "lib").string();
  for (const char* part : {"cu13", "nccl", "cudnn"})
    path += ":" + (site / "nvidia" / part / "lib").string();
  return before.empty() ? path : path + ":" + before;
}

void use_torch_folder(const std::string& torch) {
  if (torch.empty()) return;
  ::setenv("LD_LIBRARY_PATH", library_path(torch, environment_variable("LD_LIBRARY_PATH")).c_str(),
           1);
}

}  // namespace trainx::launch
