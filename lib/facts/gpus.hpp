#pragma once
#include "facts/facts.hpp"
#include <functional>
#include <string>
#include <vector>

namespace trainx::facts {

/// The GPUs that the driver shows this process. CUDA_VISIBLE_DEVICES is not applied. NVML may take
/// a second to begin, so its answer is kept (in $XDG_CACHE_HOME/trainx or ~/.cache/trainx) until
/// the machine is started anew, gets another driver, or shows this process other devices.
std::vector<Gpu> visible_gpus();

nlohmann::json to_json(const Gpu& gpu);
/// Nothing where the list is something else.
std::optional<std::vector<Gpu>> gpus_from_json(const nlohmann::json& list);

/// Why this process sees no GPU: no driver, or CUDA_VISIBLE_DEVICES hides all. "" if neither is so.
std::string why_no_gpu();

/// What `detect` finds, kept in `file` under `key`: asked again only when the key is another. A
/// file that cannot be read or written is no problem.
std::vector<Gpu> remembered(const std::string& file, const std::string& key,
                            const std::function<std::vector<Gpu>()>& detect);

}  // namespace trainx::facts
