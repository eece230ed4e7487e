// Numbers as text, the same on every machine and in every locale.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainx {

/// The shortest text that parses back to the same double: "6e-4", "0.9", "1024".
std::string shortest(double x);

/// Decimal numbers as in JSON: no leading '+' or zero, no bare point, no digit groups; nothing
/// where the text is not one or does not fit.
std::optional<double> parse_decimal(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace trainx
