#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

namespace trainx::data::labelled {

/// 1 of 1.0; nothing of a number with a fraction, or beyond what a double counts exactly.
inline std::optional<std::int64_t> whole_number(double x) {
  constexpr double exact = 9007199254740992;  // 2^53
  if (!(std::abs(x) < exact) || std::floor(x) != x) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

}  // namespace trainx::data::labelled
