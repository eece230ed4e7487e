#pragma once
#include "jinja/value.hpp"
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::jinja {

/// `place` names where in a conversation the value stands: what is null, a list or an object there
/// is not written as a text. Empty: it may be. Throws TemplateError for what is nested too deep,
/// or a number that 64 bits do not hold.
Value from_json(const nlohmann::ordered_json& json, const std::string& place = "");

}  // namespace trainx::jinja
