#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainx::app {

/// null: there is no number, or none that JSON can hold.
inline nlohmann::ordered_json number(const std::optional<double>& x) {
  return x && std::isfinite(*x) ? nlohmann::ordered_json(*x) : nlohmann::ordered_json();
}

}  // namespace trainx::app
