#pragma once
#include <functional>
#include <string>
#include <vector>

namespace trainx::facts {

/// Names of the GPUs that the driver shows this process, as NVML tells; empty without a driver.
/// CUDA_VISIBLE_DEVICES is not applied. NVML may take a second to begin, so that its answer is kept
/// (in $XDG_CACHE_HOME/trainx or ~/.cache/trainx) until the machine is started anew, gets another
/// driver, or shows this process other devices.
std::vector<std::string> gpu_names();

/// Why this process sees no GPU: no driver, or CUDA_VISIBLE_DEVICES hides all. "" if neither is so.
std::string why_no_gpu();

/// What `detect` finds, kept in `file` under `key`: asked again only when the key is another. A
/// file that cannot be read or written is no problem.
std::vector<std::string> remembered(const std::string& file, const std::string& key,
                                    const std::function<std::vector<std::string>()>& detect);

}  // namespace trainx::facts
