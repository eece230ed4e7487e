// Axes along which ranks differ, and sets of them: who makes a collective with whom.
#pragma once
#include <cstdint>
#include <string>

namespace trainx::program {

/// Outermost first: ranks that differ in the last one alone are neighbours.
enum class Axis : std::uint8_t {
  replica,  // each holds all shards, among it and its neighbours
  shard,    // each has a shard of its own
  tensor,   // each has a part of each layer, and of the rows of one batch
};
constexpr int axis_count = 3;

/// A set of axes, or of their factors: the innermost ranks, as many as share the experts of each
/// layer, take of each axis the ranks nearest to each other. What else an axis has is its other
/// factor.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  /// One factor of an axis: the one within those that share experts, or the other.
  static constexpr AxisSet factor(Axis axis, bool within_experts) {
    return AxisSet(static_cast<std::uint16_t>(
        1U << (2 * static_cast<unsigned>(axis) + (within_experts ? 1U : 0U))));
  }
  static constexpr AxisSet all() { return AxisSet((1U << (2 * axis_count)) - 1); }

  constexpr bool holds(AxisSet other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr AxisSet operator|(AxisSet other) const { return AxisSet(bits_ | other.bits_); }
  constexpr AxisSet operator&(AxisSet other) const { return AxisSet(bits_ & other.bits_); }
  /// What it has and the other one has not.
  constexpr AxisSet operator-(AxisSet other) const { return AxisSet(bits_ & ~other.bits_); }
  constexpr auto operator<=>(const AxisSet&) const = default;

 private:
  constexpr explicit AxisSet(unsigned bits) : bits_(static_cast<std::uint16_t>(bits)) {}
  std::uint16_t bits_ = 0;
};

namespace axes {
constexpr AxisSet both_factors(Axis axis) {
  return AxisSet::factor(axis, false) | AxisSet::factor(axis, true);
}
constexpr AxisSet all = AxisSet::all();
constexpr AxisSet shard = both_factors(Axis::shard);
constexpr AxisSet replica = both_factors(Axis::replica);
constexpr AxisSet tensor = both_factors(Axis::tensor);
constexpr AxisSet data = all - tensor;  // each has a batch of its own
/// Neighbours, each with experts of its own; and those that have the same.
constexpr AxisSet expert = AxisSet::factor(Axis::replica, true) |
                           AxisSet::factor(Axis::shard, true) | AxisSet::factor(Axis::tensor, true);
constexpr AxisSet expert_replica = all - expert;
}  // namespace axes

/// As programs print it: "all", "shards", "replicas", "tensor", "data", "experts", "replicas of
/// experts", "shards of experts", else its factors.
std::string name_of(AxisSet set);

}  // namespace trainx::program
