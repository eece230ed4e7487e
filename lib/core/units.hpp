// Quantities that carry their unit in a recipe: `500 steps`, `1 epoch`, `2B tokens`, `30 min`; `512
// MiB`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainx {

struct Duration {
  // percent of run.duration
  enum class Unit : std::uint8_t { steps, epochs, tokens, seconds, percent };
  double amount = 0;  // whole for steps and tokens
  Unit unit = Unit::steps;
  bool operator==(const Duration&) const = default;
};

struct ByteSize {
  std::int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

/// Nothing on a malformed text; `problem` then says what is wrong, with a suggestion ("did you mean
/// '2000 steps'?"). Durations: steps, epoch(s), tokens (k, M, B, T before the unit), s, min, h, d,
/// %. Sizes: B, KiB, MiB, GiB, TiB, kB, MB, GB, TB.
std::optional<Duration> parse_duration(std::string_view text, std::string& problem);
std::optional<ByteSize> parse_byte_size(std::string_view text, std::string& problem);
/// The shortest text that parses back to the same value.
std::string to_string(const Duration& d);
std::string to_string(const ByteSize& b);
/// For people: "1.4 GiB", "12.3k", "2 min 5 s".
std::string human_bytes(std::int64_t bytes);
std::string human_count(double n);
std::string human_seconds(double seconds);

}  // namespace trainx
