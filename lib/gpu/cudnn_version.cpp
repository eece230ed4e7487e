#include "gpu/cudnn_version.hpp"
#include "gpu/gpu_error.hpp"

namespace trainx::gpu {

std::string cudnn_version(std::size_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." +
         std::to_string(number % 100);
}

void require_cudnn_version(std::size_t number, const std::string& path) {
  if (number >= least_cudnn_version) return;
  throw GpuError(ExitCode::unavailable,
                 path + " is cuDNN " + cudnn_version(number) + ", but attention needs " +
                     cudnn_version(least_cudnn_version) +
                     " or newer; `pip install torch==2.11.0` brings it: name its folder "
                     "nvidia/cudnn/lib first in LD_LIBRARY_PATH, or set model.attention=flash");
}

}  // namespace trainx::gpu
