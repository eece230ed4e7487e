#pragma once
#include "checkpoint/checkpoint.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::checkpoint {

/// A checkpoint as people are told of it.
struct Listed {
  std::int64_t step = 0, bytes = 0;
  std::string path;
  std::vector<std::string> links;  // "latest", "best" or both
};

/// Of a run's folder, by step.
std::vector<Listed> listing(const std::string& run_folder);

}  // namespace trainx::checkpoint
