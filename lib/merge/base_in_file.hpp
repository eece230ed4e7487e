#pragma once
#include "checkpoint/checkpoint.hpp"
#include "plan/adapter_plan.hpp"
#include <map>
#include <string>

namespace trainx::merge {

/// The model's own weights that an adapter's file has: parameter -> tensor. Of two tensors of one
/// parameter the later of the model's order counts, as in PEFT. Throws UserError 65 for a tensor
/// that belongs neither to the adapter nor to the model.
std::map<std::string, std::string> base_in_file(const checkpoint::SafetensorsReader& file,
                                                const std::string& path,
                                                const plan::AdapterPlan& plan);

}  // namespace trainx::merge
