// What each operation computes in tests, over doubles. Not the mathematics of training: functions
// of all that an operation reads, so that any wrong, missing or stale operand shows. Sums are over
// multiples of 2^-24 and hence exact: no result depends on the order of their terms.
#pragma once
#include "program/operations.hpp"
#include "support/toy/graphs.hpp"
#include <cmath>
#include <limits>
#include <optional>

namespace toy {

using Numbers = std::vector<double>;

inline double exact(double x) {
  return std::isfinite(x) ? std::nearbyint(x * 0x1p24) * 0x1p-24 : x;
}
/// As a gradient that leaves for the host.
inline double rounded(double x) {
  return std::isfinite(x) ? std::nearbyint(x * 0x1p6) * 0x1p-6 : x;
}
inline double squash(double x) { return x / (1 + x * x); }
inline double nothing() { return std::numeric_limits<double>::quiet_NaN(); }

/// The step and rank whose first micro-batch holds an infinity.
struct Overflow {
  int step = -1, rank = 0;
};

inline double sample(const Overflow& overflow, double step, int micro, int rank, int tensor,
                     std::size_t e) {
  if (static_cast<int>(step) == overflow.step && rank == overflow.rank && micro == 0 && e == 1)
    return std::numeric_limits<double>::infinity();
  return std::sin(1 + 7.0 * step + 3.0 * micro + 5.0 * rank + 2.0 * tensor +
                  0.7 * static_cast<double>(e));
}

inline double initial(Role role, int group, std::size_t e) {
  if (role == Role::learning_rates) return 0.05 / (1 + static_cast<double>(e));
  if (role == Role::loss_scale) return 0.5;
  if (role == Role::parameter || role == Role::master)
    return 0.5 + 0.3 * std::cos(3.0 * group + static_cast<double>(e));
  return 0;  // states, counters
}

/// `slots`: by slot, filled where read; written ones are set to `sizes[slot]` elements.
inline void compute_block(const ModelGraph& graph, int block, Op op,
                          const std::vector<SlotUse>& uses, const std::vector<std::size_t>& sizes,
                          std::vector<Numbers>& slots) {
  const BlockSpec& spec = graph.blocks[block];
  auto coefficient = [&](int what, Slot out, Slot in) {
    return std::cos(1.3 * block + 0.7 * what + 2.1 * out + 3.7 * in);
  };
  auto combine = [&](int what, Slot out, const std::vector<Slot>& in) {
    Numbers r(sizes[out], 0.1);
    for (const Slot s : in) {
      const Numbers& x = slots[s];
      for (std::size_t e = 0; e < r.size(); ++e)
        r[e] += coefficient(what, out, s) * (x.empty() ? nothing() : x[e % x.size()]);
    }
    for (double& x : r) x = squash(x);
    return r;
  };
  if (op == Op::forward || op == Op::recompute) {
    std::vector<char> done(slots.size());
    for (const SlotUse& u : uses) done[u.slot] = u.how == How::read;
    auto find = [&](auto& self, Slot s) -> void {
      if (done[s]) return;
      done[s] = true;
      for (const Slot f : spec.slots[s].from) self(self, f);
      slots[s] = combine(0, s, spec.slots[s].from);
    };
    for (const SlotUse& u : uses) find(find, u.slot);
    return;
  }
  std::vector<Slot> in;
  for (Slot s = 0; s < static_cast<Slot>(slots.size()); ++s)
    for (const SlotUse& u : uses)
      if (u.slot == s && (u.how == How::read || u.how == How::modify)) in.push_back(s);
  std::vector<std::pair<Slot, Numbers>> made;
  for (const SlotUse& u : uses)
    if (writes(u.how)) made.emplace_back(u.slot, combine(1 + static_cast<int>(op), u.slot, in));
  for (auto& [s, numbers] : made) {
    for (double& x : numbers) x = exact(x);
    slots[s] = std::move(numbers);
  }
}

/// One element. What is absent is nullptr.
struct Element {
  double gradient;
  const double *norm2, *target_count, *loss_scale;
  double applied, lr;
  double *parameter, *master;
  std::vector<double*> states;
};

inline void update_element(const Element& x) {
  if (x.norm2 && !std::isfinite(*x.norm2)) return;
  double g = x.target_count ? x.gradient / (1 + std::abs(*x.target_count)) : x.gradient;
  if (x.loss_scale) g /= *x.loss_scale;
  if (x.norm2 && *x.norm2 > 0.25) g *= 0.5 / std::sqrt(*x.norm2);
  double direction = g;
  for (double* s : x.states) direction = *s = 0.9 * *s + direction;
  double& exact_weight = x.master ? *x.master : *x.parameter;
  exact_weight -= x.lr * direction + 0.001 * x.applied;
  *x.parameter = x.master ? std::nearbyint(exact_weight * 256) / 256 : exact_weight;
}

inline double norm_term(double gradient) { return exact(gradient * gradient); }
inline double advanced(Role counter, double value, const double* norm2) {
  const bool finite = !norm2 || std::isfinite(*norm2);
  if (counter == Role::loss_scale) return finite ? std::min(value * 2, 1.0) : value / 2;
  return finite ? value + 1 : value;
}
inline double learning_rate(const Numbers& table, double applied) {
  return table[std::min(table.size() - 1, static_cast<std::size_t>(applied))];
}

}  // namespace toy
