#pragma once
#include "jinja/runtime.hpp"
#include <string>
#include <string_view>

namespace trainx::jinja {

/// How a value is written: of `%-5.2f` and of `{:>5.2f}`.
struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = 0;   // + or a blank
  bool alternate = false, zero = false, commas = false;
  std::int64_t width = 0, precision = -1;
  char type = 0;
};

/// Digits, or -1: there are none. Moves `at` behind them.
std::int64_t read_width(std::string_view text, std::size_t& at);
/// A number by d, i, x, X, o, b, e, E, f, F, g, G; not padded.
std::string number_text(const Value& value, const FormatSpec& spec);
/// Throws TemplateError beyond the limits.
std::string padded_text(Runtime& runtime, const std::string& text, const FormatSpec& spec,
                        bool number);

}  // namespace trainx::jinja
