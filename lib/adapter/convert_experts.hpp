#pragma once
#include "adapter/config.hpp"
#include "adapter/module.hpp"
#include "adapter/module_names.hpp"
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::adapter {

/// PEFT's convert_peft_config_for_transformers: targets that name experts and routers as
/// transformers 4 did become target_parameters of the stacked tensors; all-linear and expressions
/// become suffixes. gate_up_proj, which two of them share, gets twice their rank and alpha.
/// Returns what each converted target became ("w1" -> "gate_up_proj"); nothing is changed for types
/// of models without such names. Throws UserError 78 if one of gate and up is named alone.
std::map<std::string, std::string> convert_expert_names(Config& config,
                                                        std::span<const Module> modules,
                                                        const std::vector<NamedModule>& names,
                                                        std::string_view model_type);

/// The linear modules that all-linear means.
std::vector<std::string> all_linear_names(std::span<const Module> modules, const Config& config);

}  // namespace trainx::adapter
