// What a worker says of its models, as JSON.
#pragma once
#include "architectures/custom.hpp"
#include <nlohmann/json_fwd.hpp>

namespace trainx::architectures {

nlohmann::json to_json(const CustomOptions& model);
nlohmann::json to_json(const CustomShape& shape);
/// Throw nlohmann::json::exception, or UserError 69, for what is no such description.
CustomOptions custom_options_from_json(const nlohmann::json& j);
CustomShape custom_shape_from_json(const nlohmann::json& j);
/// "f32", "bf16" or "f16". InternalError for another.
DType compute_from_name(const std::string& name);

/// The values alone, by key.
nlohmann::json option_values(const CustomOptions& options);
/// Sets the options named in `values`; returns a sentence about the first that the model does not
/// have, or that is of another type or no such word.
std::string set_option_values(CustomOptions& options, const nlohmann::json& values);

}  // namespace trainx::architectures
