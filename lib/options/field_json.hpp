// Options that a worker describes, as JSON.
#pragma once
#include "trainx/option_field.hpp"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainx::options {

nlohmann::json fields_to_json(const std::vector<OptionField>& fields);
/// Throws nlohmann::json::exception, or UserError 69, for what is no such description.
std::vector<OptionField> fields_from_json(const nlohmann::json& list);

/// The values alone, by key.
nlohmann::json values_to_json(const std::vector<OptionField>& fields);
/// Sets the options named in `values`; returns a sentence about the first that `who` ("model x")
/// does not have, or that is of another type or no such word.
std::string set_values(std::vector<OptionField>& fields, const std::string& who,
                       const nlohmann::json& values);

}  // namespace trainx::options
