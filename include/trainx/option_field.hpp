// How an option of a model is described: its values, its limits. Free of LibTorch.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trainx {

/// Which numbers a field takes; `says` completes "must be ...".
struct Limits {
  std::string says;
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  bool contains(double x) const {
    return std::isfinite(x) && (low_open ? x > low : x >= low) &&
           (high_open ? x < high : x <= high);
  }
};
inline Limits anything() { return {}; }
inline Limits positive() {
  return {"greater than 0", 0, std::numeric_limits<double>::infinity(), true, false};
}
inline Limits negative() {
  return {"less than 0", -std::numeric_limits<double>::infinity(), 0, false, true};
}
inline Limits non_negative() { return {"0 or more", 0}; }
inline Limits unit_interval() { return {"at least 0 and less than 1", 0, 1, false, true}; }
inline Limits fraction() { return {"between 0 and 1", 0, 1}; }
inline Limits at_least(double x) {
  return {"at least " + std::to_string(static_cast<long long>(x)), x};
}
inline Limits between(double low, double high) {
  return {"between " + std::to_string(static_cast<long long>(low)) + " and " +
              std::to_string(static_cast<long long>(high)),
          low, high};
}

/// What an enum's values are called in YAML: `const std::vector<std::pair<E, std::string_view>>&
/// enum_names(E)` beside the enum, found by argument-dependent lookup.
template <class E>
using EnumNames = std::vector<std::pair<E, std::string_view>>;

/// One of several words.
struct Choice {
  std::string word;
  std::vector<std::string> words;
};
using OptionValue = std::variant<bool, std::int64_t, double, std::string, Choice>;

/// An option that is known only when the program runs.
struct OptionField {
  std::string key;
  OptionValue value;  // in a description the default
  Limits limits;
  std::string doc;
};

}  // namespace trainx
