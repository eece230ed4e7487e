#include "equality/quantity.hpp"
#include "checkpoint/float_elements.hpp"
#include <fnmatch.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <regex>
#include <stdexcept>

namespace trainx::equality {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::map<std::string, const SavedTensor*> tensors_of(const Quantity& quantity,
                                                     const Results& results) {
  std::map<std::string, const SavedTensor*> found;
  if (const auto file = results.tensors.find(quantity.name); file != results.tensors.end())
    for (const auto& [name, tensor] : file->second)
      if (::fnmatch((quantity.prefix + "*").c_str(), name.c_str(), FNM_NOESCAPE) == 0)
        found[name] = &tensor;
  return found;
}

/// A sentence where two rows of numbers cannot be compared, else empty.
std::string unlike_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return "there are none";
  if (a.size() != b.size())
    return std::to_string(a.size()) + " of them and " + std::to_string(b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return "number " + std::to_string(i) + " is " + exact(a[i]) + " and " + exact(b[i]);
  return {};
}

std::string unequal_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  if (std::string why = unlike_numbers(a, b); !why.empty()) return why;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      return "number " + std::to_string(i) + " is " + exact(a[i]) + ", not " + exact(b[i]);
  return {};
}

using Tensors = std::map<std::string, const SavedTensor*>;

/// A sentence where the names differ or there are none, else empty.
std::string other_names(const Tensors& a, const Tensors& b) {
  if (a.empty() || b.empty()) return "there are none";
  for (const auto& [name, tensor] : b)
    if (!a.contains(name)) return name + " is missing";
  for (const auto& [name, tensor] : a)
    if (!b.contains(name)) return name + " is one too many";
  return {};
}

std::string unequal_tensors(const Tensors& a, const Tensors& b) {
  if (std::string why = other_names(a, b); !why.empty()) return why;
  for (const auto& [name, tensor] : a)
    if (*tensor != *b.at(name)) return name + " has other bytes";
  return {};
}

std::string unequal_texts(const std::string& a, const std::string& b) {
  if (a == b) return {};
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto from = static_cast<std::size_t>(std::max(at - a.begin() - 30, std::ptrdiff_t{0}));
  return a.substr(from, 80) + ", not " + b.substr(from, 80);
}

std::vector<float> elements_of(const SavedTensor& tensor) {
  return checkpoint::to_floats(
      {tensor.dtype,
       tensor.dims,
       {reinterpret_cast<const std::byte*>(tensor.bytes.data()), tensor.bytes.size()}},
      "a tensor");
}

double largest_difference(const SavedTensor& a, const SavedTensor& b) {
  if (a.dtype != b.dtype || a.dims != b.dims) return none;
  const std::vector<float> left = elements_of(a), right = elements_of(b);
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double apart = std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
    if (!std::isfinite(apart)) return none;
    most = std::max(most, apart);
    largest = std::max(largest, std::abs(static_cast<double>(right[i])));
  }
  return most == 0 ? 0 : most / largest;
}

}  // namespace

Quantity quantity_of(const std::string& text) {
  static const std::regex form(R"((state\.)?([a-z0-9_]+)(?:/(.+)|\[(-?\d*):(-?\d*)\])?)");
  std::smatch found;
  if (!std::regex_match(text, found, form))
    throw std::invalid_argument("runs are not compared by " + text);
  Quantity quantity{.text = text, .name = found[2], .prefix = found[3]};
  const bool tensors = quantity.name == "model" || quantity.name == "optimizer";
  if (found[1].matched || text == "checkpoints")
    quantity.kind = Quantity::Kind::state;
  else if (tensors)
    quantity.kind = Quantity::Kind::tensors;
  if (found[4].length() > 0) quantity.from = std::stoll(found[4]);
  if (found[5].length() > 0) quantity.to = std::stoll(found[5]);
  const bool slice = found[4].matched;
  if ((found[3].matched && quantity.kind != Quantity::Kind::tensors) ||
      (slice && quantity.kind != Quantity::Kind::metric))
    throw std::invalid_argument("runs are not compared by " + text);
  return quantity;
}

std::vector<double> numbers_of(const Quantity& quantity, const Results& results) {
  if (quantity.kind != Quantity::Kind::metric)
    throw std::invalid_argument(quantity.text + " is not a row of numbers");
  const auto found = results.metrics.find(quantity.name);
  if (found == results.metrics.end()) return {};
  const auto size = static_cast<std::int64_t>(found->second.size());
  const auto place = [size](std::int64_t at) {
    return std::clamp(at < 0 ? size + at : at, std::int64_t{0}, size);
  };
  const std::int64_t from = place(quantity.from.value_or(0)),
                     to = place(quantity.to.value_or(size));
  if (from >= to) return {};
  return {found->second.begin() + from, found->second.begin() + to};
}

bool has(const Quantity& quantity, const Results& results) {
  if (quantity.kind == Quantity::Kind::metric) return !numbers_of(quantity, results).empty();
  if (quantity.kind == Quantity::Kind::tensors) return !tensors_of(quantity, results).empty();
  return results.state.contains(quantity.name);
}

std::string unlike(const Quantity& quantity, const Results& a, const Results& b) {
  if (quantity.kind == Quantity::Kind::metric)
    return unlike_numbers(numbers_of(quantity, a), numbers_of(quantity, b));
  if (quantity.kind == Quantity::Kind::tensors)
    return other_names(tensors_of(quantity, a), tensors_of(quantity, b));
  return has(quantity, a) && has(quantity, b) ? "" : "a checkpoint has none";
}

std::string unequal(const Quantity& quantity, const Results& a, const Results& b) {
  if (quantity.kind == Quantity::Kind::metric)
    return unequal_numbers(numbers_of(quantity, a), numbers_of(quantity, b));
  if (quantity.kind == Quantity::Kind::tensors)
    return unequal_tensors(tensors_of(quantity, a), tensors_of(quantity, b));
  if (std::string why = unlike(quantity, a, b); !why.empty()) return why;
  return unequal_texts(a.state.at(quantity.name), b.state.at(quantity.name));
}

double largest_difference(const Quantity& quantity, const Results& a, const Results& b) {
  if (quantity.kind == Quantity::Kind::state)
    throw std::invalid_argument(quantity.text + " is compared to the bit alone");
  double most = 0;
  if (quantity.kind == Quantity::Kind::metric) {
    const auto left = numbers_of(quantity, a), right = numbers_of(quantity, b);
    if (!unlike_numbers(left, right).empty()) return none;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (left[i] != right[i])
        most = std::max(most, std::abs(left[i] - right[i]) / std::abs(right[i]));
    return most;
  }
  const Tensors left = tensors_of(quantity, a), right = tensors_of(quantity, b);
  if (!other_names(left, right).empty()) return none;
  for (const auto& [name, tensor] : left) {
    const double apart = largest_difference(*tensor, *right.at(name));
    if (std::isnan(apart)) return none;
    most = std::max(most, apart);
  }
  return most;
}

double largest_share(const Quantity& quantity, const Results& a, const Results& b) {
  const auto left = numbers_of(quantity, a), right = numbers_of(quantity, b);
  if (!unlike_numbers(left, right).empty()) return none;
  const auto [low, high] = std::minmax_element(right.begin(), right.end());
  double most = 0;
  for (std::size_t i = 0; i < left.size(); ++i) most = std::max(most, std::abs(left[i] - right[i]));
  return most / (*high - *low);
}

}  // namespace trainx::equality
