// Running statistics of the user's modules in checkpoints, and among ranks.
#pragma once
#include "execute/ranks.hpp"
#include <string>

namespace trainx::train {

constexpr const char* module_buffers_file = "buffers.safetensors";

/// As a safetensors file holds them; empty where no module changes its buffers.
std::string module_buffers_text();
/// From a folder with weights of the model. Throws UserError 65 where its file is missing or of
/// other tensors.
void load_module_buffers(const std::string& folder);
/// Rank 0's become those of all. All ranks call it.
void share_module_buffers(const execute::Ranks& ranks);

}  // namespace trainx::train
