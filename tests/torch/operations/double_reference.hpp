// Operations against formulas of doubles that a test writes out itself, and their gradients against
// central differences of the formulas.
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>
#include "support/catch.hpp"

namespace double_reference {

using Doubles = std::vector<double>;

inline Doubles doubles(const at::Tensor& t) {
  if (!t.defined()) return {};
  const at::Tensor d = t.to(at::kDouble).contiguous();
  return {d.const_data_ptr<double>(), d.const_data_ptr<double>() + d.numel()};
}

/// The largest difference by the largest wanted value, or by 0.5 if those are smaller: what is left
/// of larger ones that cancel. Infinity where something is not finite.
inline double error(const Doubles& got, const Doubles& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.5, difference = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(want[i]))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(want[i]));
    difference = std::max(difference, std::abs(got[i] - want[i]));
  }
  return difference / largest;
}
inline double error(const at::Tensor& got, const Doubles& want) {
  return error(doubles(got), want);
}

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
inline Doubles sum(Doubles a, const Doubles& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// d loss() / d x by central differences; `loss` reads x.
template <class F>
Doubles slopes(Doubles& x, F loss) {
  constexpr double step = 1e-5;
  Doubles out;
  for (double& v : x) {
    const double at = v;
    v = at + step;
    const double above = loss();
    v = at - step;
    const double below = loss();
    v = at;
    out.push_back((above - below) / (2 * step));
  }
  return out;
}

/// Random operands of one test, which prints its seed.
class Operands {
 public:
  explicit Operands(at::ScalarType type) : type_(type), seed_(std::random_device{}()) {}
  std::uint64_t seed() const { return seed_; }
  at::Tensor normal(at::IntArrayRef dims, double scale = 1) { return normal(dims, scale, type_); }
  at::Tensor normal(at::IntArrayRef dims, double scale, at::ScalarType type) {
    const auto generator = at::detail::createCPUGenerator(seed_ + 1000 * ++drawn_);
    return (at::randn(dims, generator, at::kDouble) * scale).to(type);
  }
  /// Not a number, until an operation writes it.
  at::Tensor empty(at::IntArrayRef dims) const { return empty(dims, type_); }
  at::Tensor empty(at::IntArrayRef dims, at::ScalarType type) const {
    return at::full(dims, std::numeric_limits<double>::quiet_NaN(), type);
  }
  double tolerance() const { return type_ == at::kFloat ? 2e-5 : type_ == at::kHalf ? 6e-3 : 5e-2; }

 private:
  at::ScalarType type_;
  std::uint64_t seed_, drawn_ = 0;
};

/// Starts of documents of `length` tokens: 2, 3, one token, the rest without the last, padding.
inline at::Tensor document_starts(std::int64_t batch, std::int64_t length) {
  const at::Tensor starts = at::full({batch, length}, -1, at::kInt);
  auto* const s = starts.mutable_data_ptr<std::int32_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t begin = 0, at = 0;
    for (const std::int64_t tokens : {2 + b, std::int64_t{3}, std::int64_t{1}, length}) {
      for (begin = at; at < std::min(begin + tokens, length - 1 - b); ++at)
        s[b * length + at] = static_cast<std::int32_t>(begin);
    }
  }
  return starts;
}

}  // namespace double_reference
