// Questions to a worker about what its parts take on a GPU.
#pragma once
#include "facts/facts.hpp"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace trainx::launch {

bool is_of_gpu(ExitCode code);

/// What an answer holds for; nothing where the run computes on CPUs.
std::optional<nlohmann::json> gpu_of(const recipe::Recipe& recipe, const facts::Facts& facts);

/// The worker's answer, kept as ask_worker keeps it, unless a GPU could not be had: that may be
/// over. Discarded where it is no JSON.
nlohmann::json ask_about_gpu(const std::string& worker, const std::string& argument,
                             const nlohmann::json& question);

}  // namespace trainx::launch
