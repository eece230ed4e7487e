#include "core/units.hpp"
#include "core/number.hpp"
#include "core/suggest.hpp"
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace trainx {
namespace {

// 2^53: whole numbers up to here are exact in a double
constexpr double largest_exact = 9007199254740992.0;

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array<TimeUnit, 4> time_units{{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
struct Suffix {
  std::string_view name;
  double factor;
};
constexpr std::array<Suffix, 4> count_suffixes{{{"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}};
struct SizeUnit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<SizeUnit, 9> size_units{{{"B", 1},
                                              {"KiB", std::int64_t{1} << 10},
                                              {"MiB", std::int64_t{1} << 20},
                                              {"GiB", std::int64_t{1} << 30},
                                              {"TiB", std::int64_t{1} << 40},
                                              {"kB", 1000},
                                              {"MB", 1000000},
                                              {"GB", 1000000000},
                                              {"TB", 1000000000000}}};

/// What other tools and habits call these units.
using Habits = std::vector<std::pair<std::string_view, std::string_view>>;
const Habits duration_habits{{"sec", "s"},
                             {"secs", "s"},
                             {"second", "s"},
                             {"seconds", "s"},
                             {"m", "min"},
                             {"mins", "min"},
                             {"minute", "min"},
                             {"minutes", "min"},
                             {"hr", "h"},
                             {"hrs", "h"},
                             {"hour", "h"},
                             {"hours", "h"},
                             {"day", "d"},
                             {"days", "d"},
                             {"iter", "steps"},
                             {"iters", "steps"},
                             {"iterations", "steps"},
                             {"updates", "steps"},
                             {"ep", "epochs"},
                             {"percent", "%"},
                             {"tok", "tokens"}};
const Habits size_habits{{"K", "KiB"}, {"k", "KiB"}, {"M", "MiB"}, {"m", "MiB"},   {"G", "GiB"},
                         {"g", "GiB"}, {"T", "TiB"}, {"t", "TiB"}, {"bytes", "B"}, {"byte", "B"},
                         {"Mb", "MB"}, {"Gb", "GB"}, {"Tb", "TB"}, {"KB", "kB"},   {"gb", "GB"},
                         {"mb", "MB"}, {"kb", "kB"}, {"tb", "TB"}};

/// "2.5B tokens" -> number "2.5", words "B" and "tokens".
struct Quantity {
  std::string number;
  std::vector<std::string> words;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Quantity split(std::string_view text) {
  Quantity q;
  std::size_t i = 0;
  const auto is_exponent = [&](std::size_t k) {
    return (text[k] == 'e' || text[k] == 'E') && k + 1 < text.size() && !is_letter(text[k + 1]);
  };
  while (i < text.size() && text[i] != ' ' && text[i] != '%' &&
         (!is_letter(text[i]) || is_exponent(i)))
    ++i;
  q.number = text.substr(0, i);
  while (i < text.size()) {
    while (i < text.size() && text[i] == ' ') ++i;
    const std::size_t start = i;
    while (i < text.size() && text[i] != ' ') ++i;
    if (i > start) q.words.emplace_back(text.substr(start, i - start));
  }
  return q;
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 40)) + (text.size() > 40 ? "..." : "") + "'";
}

std::string meant(std::string_view word, const Habits& habits, std::vector<std::string> names) {
  for (const auto& [habit, name] : habits)
    if (habit == word) return std::string(name);
  return suggest(word, names).value_or("");
}

std::string ask(const std::string& suggestion) { return " (did you mean '" + suggestion + "'?)"; }

std::optional<double> parse_amount(const Quantity& q, std::string_view text, std::string& problem,
                                   const std::string& example) {
  if (const auto amount = parse_decimal(q.number)) {
    if (*amount >= 0) return *amount;
    problem = "must not be negative, " + quoted(text) + " is";
    return std::nullopt;
  }
  problem = "must be a number and a unit such as '" + example + "', not " + quoted(text);
  return std::nullopt;
}

// Whole numbers in digits: "100000 steps", not "1e5 steps".
std::string plural(double amount, std::string_view unit) {
  const bool whole = amount == std::floor(amount) && std::abs(amount) < 1e15;
  return (whole ? std::to_string(static_cast<long long>(amount)) : shortest(amount)) + " " +
         std::string(unit) + (amount == 1 ? "" : "s");
}

std::string one_decimal(double x, const char* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, x < 9.95 ? "%.1f%s" : "%.0f%s", x, unit);
  return buffer;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text, std::string& problem) {
  const Quantity q = split(text);
  const auto amount = parse_amount(q, text, problem, "2000 steps");
  if (!amount) return std::nullopt;
  if (q.words.empty()) {
    problem = "has no unit: steps, epochs, tokens, s, min, h or d" + ask(q.number + " steps");
    return std::nullopt;
  }
  double factor = 1;
  std::string unit = q.words.back();
  bool fits = q.words.size() == 1;
  if (q.words.size() == 2 && (unit == "token" || unit == "tokens")) {
    for (const Suffix& s : count_suffixes)
      if (q.words[0] == s.name) {
        factor = s.factor;
        fits = true;
      }
  }
  Duration d;
  bool known = true;
  if (unit == "step" || unit == "steps")
    d.unit = Duration::Unit::steps;
  else if (unit == "epoch" || unit == "epochs")
    d.unit = Duration::Unit::epochs;
  else if (unit == "token" || unit == "tokens")
    d.unit = Duration::Unit::tokens;
  else if (unit == "%")
    d.unit = Duration::Unit::percent;
  else {
    d.unit = Duration::Unit::seconds;
    known = false;
    for (const TimeUnit& t : time_units)
      if (unit == t.name) {
        factor = t.seconds;
        known = true;
      }
  }
  if (!known || !fits) {
    std::string near;
    if (q.words.size() == 1) {
      near = meant(unit, duration_habits, {"steps", "epochs", "tokens", "min"});
      if (!near.empty()) near = q.number + " " + near;
      for (const Suffix& s : count_suffixes)
        if (unit == s.name) near = q.number + unit + " tokens";
    } else if (q.words.size() == 2 && known && d.unit != Duration::Unit::tokens) {
      for (const Suffix& s : count_suffixes)
        if (q.words[0] == s.name) near = shortest(*amount * s.factor) + " " + unit;
    }
    problem = quoted(text) +
              " is not a duration: a number and steps, epochs, tokens (k, M, B, T before it), s, "
              "min, h or d" +
              (near.empty() ? "" : ask(near));
    return std::nullopt;
  }
  d.amount = *amount * factor;
  const bool whole = d.unit == Duration::Unit::steps || d.unit == Duration::Unit::tokens;
  if (whole && d.amount != std::floor(d.amount)) {
    problem = "must be a whole number of " +
              std::string(d.unit == Duration::Unit::steps ? "steps" : "tokens") + ", " +
              quoted(text) + " is not";
    return std::nullopt;
  }
  if (!(d.amount <= largest_exact)) {
    problem = quoted(text) + " is too long";
    return std::nullopt;
  }
  return d;
}

std::optional<ByteSize> parse_byte_size(std::string_view text, std::string& problem) {
  const Quantity q = split(text);
  const auto amount = parse_amount(q, text, problem, "512 MiB");
  if (!amount) return std::nullopt;
  if (q.words.empty()) {
    problem = "has no unit: B, KiB, MiB, GiB, TiB, kB, MB, GB or TB" +
              ask(q.number + (*amount <= 64      ? " GiB"
                              : *amount <= 65536 ? " MiB"
                                                 : " B"));
    return std::nullopt;
  }
  const SizeUnit* unit = nullptr;
  for (const SizeUnit& u : size_units)
    if (q.words.size() == 1 && q.words[0] == u.name) unit = &u;
  if (!unit) {
    std::vector<std::string> names;
    for (const SizeUnit& u : size_units) names.emplace_back(u.name);
    const std::string near = q.words.size() == 1 ? meant(q.words[0], size_habits, names) : "";
    problem = quoted(text) +
              " is not a size: a number and B, KiB, MiB, GiB, TiB, kB, MB, GB or TB" +
              (near.empty() ? "" : ask(q.number + " " + near));
    return std::nullopt;
  }
  // Whole numbers are multiplied as such; a double would lose the last bits of large ones.
  if (const auto count = parse_integer(q.number)) {
    ByteSize size;
    if (!__builtin_mul_overflow(*count, unit->bytes, &size.bytes)) return size;
  } else if (const double bytes = *amount * static_cast<double>(unit->bytes);
             bytes <= largest_exact) {
    if (bytes == std::floor(bytes)) return ByteSize{static_cast<std::int64_t>(bytes)};
    problem = "must be a whole number of bytes, " + quoted(text) + " is not";
    return std::nullopt;
  }
  problem = quoted(text) + " is too large";
  return std::nullopt;
}

std::string to_string(const Duration& d) {
  switch (d.unit) {
    case Duration::Unit::steps: return plural(d.amount, "step");
    case Duration::Unit::epochs: return plural(d.amount, "epoch");
    case Duration::Unit::tokens: {
      std::string text = plural(d.amount, "token");
      for (const Suffix& s : count_suffixes) {
        const std::string shorter = shortest(d.amount / s.factor) + std::string(s.name) + " tokens";
        std::string problem;
        if (shorter.size() < text.size() && parse_duration(shorter, problem) == d) text = shorter;
      }
      return text;
    }
    case Duration::Unit::seconds:
      for (auto t = time_units.rbegin(); t != time_units.rend(); ++t) {
        const double n = d.amount / t->seconds;
        if (n >= 1 && n == std::floor(n) && n * t->seconds == d.amount)
          return shortest(n) + " " + std::string(t->name);
      }
      return shortest(d.amount) + " s";
    case Duration::Unit::percent: return shortest(d.amount) + " %";
  }
  return "";
}

std::string to_string(const ByteSize& b) {
  std::string text = std::to_string(b.bytes) + " B";
  for (const SizeUnit& u : size_units) {
    const std::string shorter = std::to_string(b.bytes / u.bytes) + " " + std::string(u.name);
    if (b.bytes != 0 && b.bytes % u.bytes == 0 && u.bytes > 1 && b.bytes >= u.bytes &&
        (text.ends_with(" B") || shorter.size() < text.size()))
      text = shorter;
  }
  return text;
}

std::string human_bytes(std::int64_t bytes) {
  if (bytes < 0) return "-" + human_bytes(bytes == INT64_MIN ? INT64_MAX : -bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double x = static_cast<double>(bytes) / 1024;
  const char* unit = " KiB";
  for (const char* larger : {" MiB", " GiB", " TiB", " PiB", " EiB"}) {
    if (x < 1023.5) break;  // what would print as 1024
    x /= 1024;
    unit = larger;
  }
  return one_decimal(x, unit);
}

std::string human_count(double n) {
  if (!(std::abs(n) < 1e18)) return shortest(n);
  if (n < 0) return "-" + human_count(-n);
  if (n < 999.5) return n == std::floor(n) ? shortest(n) : one_decimal(n, "");
  const char* unit = "";
  for (const char* larger : {"k", "M", "B", "T", "Q"}) {
    if (n < 999.5) break;
    n /= 1000;
    unit = larger;
  }
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, n < 99.95 ? "%.1f%s" : "%.0f%s", n, unit);
  return buffer;
}

std::string human_seconds(double seconds) {
  if (!(seconds >= 0) || !(seconds < 1e12)) return "?";
  if (seconds < 0.9995e-3) return one_decimal(seconds * 1e6, " us");
  if (seconds < 0.9995) return one_decimal(seconds * 1e3, " ms");
  if (seconds < 59.95) return one_decimal(seconds, " s");
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const auto two = [](std::int64_t a, const char* large, std::int64_t b, const char* small) {
    return std::to_string(a) + large + (b ? " " + std::to_string(b) + small : "");
  };
  if (whole < 3600) return two(whole / 60, " min", whole % 60, " s");
  if (whole < 86400) return two(whole / 3600, " h", whole % 3600 / 60, " min");
  return two(whole / 86400, " d", whole % 86400 / 3600, " h");
}

}  // namespace trainx
